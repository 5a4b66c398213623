//! A view as lines of text. Every state has a sign and a colour of its own, so that the picture can be read without
//! colours too.

use std::time::Duration;

use cambium_proto::hypha::v1::RunState;
use console::Style;

use super::picture::{Failure, Running, View};
use crate::clock;
use crate::json::word;

/// The longest bar.
const WIDEST_BAR: usize = 60;
/// Failures that are told at once.
const MOST_FAILURES: usize = 10;

/// How lines are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) colours: bool,
    pub(super) width: usize,
}

impl Pen {
    fn paint(self, style: Style, text: &str) -> String {
        style.force_styling(self.colours).apply_to(text).to_string()
    }

    /// Cut off at the terminal's edge: a line that wraps would shift all below it.
    fn fit(self, line: &str) -> String {
        console::truncate_str(line, self.width.saturating_sub(1), "…").into_owned()
    }
}

/// One kind of task in the picture.
struct Part {
    name: &'static str,
    sign: char,
    count: i64,
    style: Style,
}

fn parts(view: &View) -> [Part; 10] {
    let part = |name, sign, count, style| Part {
        name,
        sign,
        count,
        style,
    };
    let (plain, counts) = (Style::new, view.counts);
    [
        part("succeeded", '#', counts.succeeded, plain().green()),
        part("skipped", '-', counts.skipped, plain().dim()),
        part("omitted", '-', counts.omitted, plain().dim()),
        part("cancelled", 'x', counts.cancelled, plain().yellow().dim()),
        part("failed", '!', counts.failed, plain().red().bold()),
        part("running", '>', view.running, plain().cyan().bold()),
        part("backing off", '~', view.backing_off, plain().yellow()),
        part("parked", '=', view.parked, plain().magenta()),
        part("ready", ':', view.ready, plain().blue()),
        part("waiting", '.', view.waiting, plain().dim()),
    ]
}

/// The picture itself, redrawn in place.
pub(super) fn lines(view: &View, pen: Pen) -> Vec<String> {
    let mut lines = vec![headline(view, pen), bar(view, pen), counts(view, pen)];
    lines.extend(pace(view));
    lines.extend(view.tasks.iter().map(|task| format!("  {}", running(task))));
    let more = view.running - i64::try_from(view.tasks.len()).unwrap_or(0);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.iter().map(|line| pen.fit(line)).collect()
}

/// What is told once, and scrolls away above the picture.
pub(super) fn failures(failed: &[Failure], pen: Pen) -> Vec<String> {
    let red = Style::new().red().bold();
    let told = failed.iter().take(MOST_FAILURES).map(|failure| {
        let detail = failure.detail.lines().last().unwrap_or_default();
        let head = pen.paint(red.clone(), "failed");
        pen.fit(&format!(
            "{head}  {}  {}  {detail}",
            failure.task, failure.code
        ))
    });
    let more = failed.len().saturating_sub(MOST_FAILURES);
    let more = (more > 0).then(|| pen.paint(red.clone(), &format!("and {more} more failed")));
    told.chain(more).collect()
}

fn headline(view: &View, pen: Pen) -> String {
    let state = word(view.state.as_str_name(), "RUN_STATE_");
    let style = match view.state {
        RunState::Succeeded => Style::new().green().bold(),
        RunState::Failed => Style::new().red().bold(),
        RunState::Cancelling | RunState::Cancelled => Style::new().yellow().bold(),
        RunState::Running | RunState::Unspecified => Style::new().cyan().bold(),
    };
    let state = pen.paint(style, &state);
    let paused = if view.paused { ", paused" } else { "" };
    let children = match view.children {
        0 => String::new(),
        1 => ", 1 child run".to_owned(),
        many => format!(", {many} child runs"),
    };
    let elapsed = length(view.elapsed);
    format!("{}  {state}{paused}{children}  {elapsed}", view.title)
}

fn bar(view: &View, pen: Pen) -> String {
    let tally = format!("{}/{}", ended(view), view.total);
    let room = pen.width.saturating_sub(tally.len() + 4).min(WIDEST_BAR);
    let parts = parts(view);
    let shares = shares(&parts.each_ref().map(|part| part.count), room);
    let drawn = parts.iter().zip(shares).filter(|(_, cells)| *cells > 0);
    let cells = drawn.map(|(part, cells)| {
        let text: String = std::iter::repeat_n(part.sign, cells).collect();
        pen.paint(part.style.clone(), &text)
    });
    format!("[{}] {tally}", cells.collect::<String>())
}

fn counts(view: &View, pen: Pen) -> String {
    let known = parts(view).into_iter().filter(|part| part.count > 0);
    let mut told: Vec<String> = known
        .map(|part| pen.paint(part.style, &format!("{} {}", part.count, part.name)))
        .collect();
    if view.counts.reused > 0 {
        told.push(format!("{} of them reused", view.counts.reused));
    }
    told.join("  ")
}

/// Rate and expected end, where they are known.
fn pace(view: &View) -> Option<String> {
    let rate = view.rate?;
    let left = view
        .left
        .map(|left| format!(", about {} left", length(left)));
    Some(format!("{rate:.1} tasks/s{}", left.unwrap_or_default()))
}

fn running(task: &Running) -> String {
    let took = task
        .took
        .map_or_else(|| "since before the watch began".to_owned(), length);
    let stopping = if task.is_stopping {
        ", told to stop"
    } else {
        ""
    };
    format!("{}  {took}{stopping}", task.task)
}

fn ended(view: &View) -> i64 {
    let open = view.ready + view.running + view.backing_off + view.parked + view.waiting;
    (view.total - open).max(0)
}

fn length(time: Duration) -> String {
    clock::length(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

/// Divides `room` cells by the counts. Whatever is there gets a cell, as far as there are any.
fn shares<const N: usize>(counts: &[i64; N], room: usize) -> [usize; N] {
    let counts = counts.map(|count| usize::try_from(count).unwrap_or(0));
    let total: usize = counts.iter().sum();
    let mut shares = [0; N];
    if total == 0 {
        return shares;
    }
    for (share, count) in shares.iter_mut().zip(counts) {
        *share = (count * room / total).max(usize::from(count > 0));
    }
    let mut sum: usize = shares.iter().sum();
    while sum != room {
        // The largest part pays for the rounding: there one cell more or less is least seen.
        let Some(largest) = shares.iter_mut().max() else {
            break;
        };
        if sum < room {
            *largest += room - sum;
        } else {
            *largest -= 1;
        }
        sum = shares.iter().sum();
    }
    shares
}

#[cfg(test)]
mod tests;
