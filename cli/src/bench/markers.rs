//! Marks: how many can be placed and reinforced, how many sensed, beside what this Postgres does with plain rows in the same
//! minute; and whether the dead and the foreign ones cost whoever senses.

use std::time::Instant;

use serde::Serialize;

use super::child::Child;
use super::goal::{self, Goal};
use super::heap;
use super::job::{BEGIN, Closed, Job, Loaded, Sense};
use super::meter::{Meter, Spent};
use super::spread::rounded;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::folder::Folder;
use crate::stack::{Stack, StackOptions};

/// Measure marks: place and reinforce, and sense
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench markers --json\n  cambium bench markers --seconds 5 --dead 1000000"
)]
pub(crate) struct Args {
    /// How long to measure each, after a warm-up of 2 s
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Also sense a thousand live marks, first alone and then among so many dead and foreign ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    dead: Option<u32>,
}

/// Clients that touch, and that sense; pgbench has as many.
const TOUCHERS: u32 = 32;
const SENSERS: u32 = 8;
/// Live marks of the region that is sensed.
const MARKS: u32 = 100;

#[derive(Debug, Default, Serialize)]
struct Line {
    scenario: &'static str,
    touches_per_s: f64,
    touch_p50_ms: f64,
    touch_p99_ms: f64,
    cpu_ms_per_touch: f64,
    wal_bytes_per_touch: f64,
    upserts_per_s: f64,
    touches_per_upsert: f64,
    senses_per_s: f64,
    sense_p50_ms: f64,
    sense_p99_ms: f64,
    cpu_ms_per_sense: f64,
    marks_per_sense: u32,
    selects_per_s: f64,
    senses_per_select: f64,
    sensed_marks_per_select: f64,
    #[serde(flatten)]
    among: Option<Among>,
    rss_mb: f64,
    other_cores: f64,
    judged: bool,
}

/// Sensing under a prefix, alone and among others.
#[derive(Debug, Serialize)]
struct Among {
    dead: u32,
    alone_p50_ms: f64,
    among_p50_ms: f64,
    alone_per_s: f64,
    among_per_s: f64,
    /// How many times longer it takes.
    dead_slowdown: f64,
}

const GOALS: [Goal; 3] = [
    Goal::at_least("/touches_per_upsert", 0.7),
    Goal::at_least("/sensed_marks_per_select", 0.5),
    Goal::at_most("/dead_slowdown", 1.3),
];

pub(super) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let home = tempfile::Builder::new()
        .prefix("cambium-bench-")
        .tempdir()?;
    let folder = Folder::at(home.path().join("data"));
    let stack = Stack::start(StackOptions {
        folder: folder.clone(),
        port: 0,
    })
    .await?;
    let measured = measure(&args, &stack, &folder, context).await;
    let stopped = stack.stop().await;
    let line = measured?;
    stopped?;
    context.print_value(&line, Line::for_people)?;
    for verdict in goal::verdicts(&serde_json::to_value(&line)?, &GOALS) {
        hint(&verdict);
    }
    Ok(Exit::Done)
}

/// One thing at a time, each between two readings of what plain rows do.
struct Bench<'a> {
    meter: Meter<'a>,
    folder: &'a Folder,
}

async fn measure(
    args: &Args,
    stack: &Stack,
    folder: &Folder,
    context: &Context,
) -> anyhow::Result<Line> {
    let bench = Bench {
        meter: Meter::new(stack.postgres()?).await?,
        folder,
    };
    let seconds = args.seconds;
    let before = bench.meter.upserts(TOUCHERS).await?;
    let touch = Job::Touch {
        clients: TOUCHERS,
        seconds,
    };
    let (touched, touching) = bench.load(&touch).await?;
    let upserts = f64::midpoint(before, bench.meter.upserts(TOUCHERS).await?);

    let before = bench.meter.selects(SENSERS).await?;
    let (sensed, sensing) = bench.load(&Job::Sense(region(seconds))).await?;
    let selects = f64::midpoint(before, bench.meter.selects(SENSERS).await?);

    let among = match args.dead {
        Some(dead) => Some(bench.among(dead, seconds, &context.workspace()).await?),
        None => None,
    };
    let others = touching.other_cores.max(sensing.other_cores);
    Ok(Line {
        scenario: "markers",
        touches_per_s: rounded(rate(&touched), 0),
        touch_p50_ms: rounded(touched.p50_ms, 2),
        touch_p99_ms: rounded(touched.p99_ms, 2),
        cpu_ms_per_touch: each(cpu_ms(&touching), &touched, 4),
        wal_bytes_per_touch: each(touching.wal_bytes, &touched, 0),
        upserts_per_s: rounded(upserts, 0),
        touches_per_upsert: rounded(rate(&touched) / upserts, 3),
        senses_per_s: rounded(rate(&sensed), 0),
        sense_p50_ms: rounded(sensed.p50_ms, 2),
        sense_p99_ms: rounded(sensed.p99_ms, 2),
        cpu_ms_per_sense: each(cpu_ms(&sensing), &sensed, 4),
        marks_per_sense: MARKS,
        selects_per_s: rounded(selects, 0),
        senses_per_select: rounded(rate(&sensed) / selects, 3),
        sensed_marks_per_select: rounded(rate(&sensed) * f64::from(MARKS) / selects, 2),
        among,
        rss_mb: rounded(sensing.rss_mb, 0),
        other_cores: rounded(others, 2),
        judged: goal::is_judged(others),
    })
}

fn region(seconds: u32) -> Sense {
    Sense {
        region: "crowd".to_owned(),
        below: false,
        marks: MARKS,
        leave: true,
        clients: SENSERS,
        seconds,
    }
}

impl Bench<'_> {
    /// One load in a process of its own, and what it cost.
    async fn load(&self, job: &Job) -> anyhow::Result<(Loaded, Spent)> {
        let mut child = Child::spawn(job, self.folder)?;
        let client = child.id()?;
        child.expect(BEGIN).await?;
        let start = self.meter.read(client).await?;
        let begun = Instant::now();
        child.go_on().await?;
        let loaded: Loaded = child.answer().await?;
        let end = self.meter.read(client).await?;
        let spent = Spent::between(&start, &end, begun.elapsed());
        child.go_on().await?;
        let _: Closed = child.answer().await?;
        child.ended().await?;
        Ok((loaded, spent))
    }

    async fn among(&self, dead: u32, seconds: u32, workspace: &str) -> anyhow::Result<Among> {
        let sense = Job::Sense(Sense {
            region: heap::PREFIX.to_owned(),
            below: true,
            marks: heap::LIVE,
            leave: false,
            clients: SENSERS,
            seconds,
        });
        heap::live(self.meter.pool(), workspace).await?;
        let (alone, _) = self.load(&sense).await?;
        heap::dead(self.meter.pool(), workspace, dead).await?;
        let (among, _) = self.load(&sense).await?;
        Ok(Among {
            dead,
            alone_p50_ms: rounded(alone.p50_ms, 2),
            among_p50_ms: rounded(among.p50_ms, 2),
            alone_per_s: rounded(rate(&alone), 0),
            among_per_s: rounded(rate(&among), 0),
            dead_slowdown: rounded(rate(&alone) / rate(&among).max(f64::EPSILON), 2),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
fn rate(loaded: &Loaded) -> f64 {
    loaded.tasks as f64 / loaded.wall_s.max(f64::EPSILON)
}

fn cpu_ms(spent: &Spent) -> f64 {
    (spent.postgres_s + spent.service_s + spent.client_s) * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
fn each(all: f64, loaded: &Loaded, digits: i32) -> f64 {
    rounded(all / loaded.tasks.max(1) as f64, digits)
}

impl Line {
    fn for_people(&self) -> String {
        let mut text = format!(
            "marks placed and reinforced by {TOUCHERS}: {:.0} a second, p50 {:.1} ms, p99 {:.1} ms, {:.3} ms of CPU each; pgbench upserts {:.0}, so {:.3} of that\n\
             a region of {} sensed by {SENSERS}: {:.0} a second, p50 {:.1} ms, p99 {:.1} ms, {:.3} ms of CPU each; pgbench reads {:.0} rows, so {:.3} of that, and {:.2} marks a row",
            self.touches_per_s,
            self.touch_p50_ms,
            self.touch_p99_ms,
            self.cpu_ms_per_touch,
            self.upserts_per_s,
            self.touches_per_upsert,
            self.marks_per_sense,
            self.senses_per_s,
            self.sense_p50_ms,
            self.sense_p99_ms,
            self.cpu_ms_per_sense,
            self.selects_per_s,
            self.senses_per_select,
            self.sensed_marks_per_select,
        );
        if let Some(among) = &self.among {
            text.push_str(&format!(
                "\na prefix of {} live marks: p50 {:.1} ms alone, {:.1} ms among {} dead and foreign ones, so {:.2} times as long",
                heap::LIVE,
                among.alone_p50_ms,
                among.among_p50_ms,
                among.dead,
                among.dead_slowdown
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_the_dead_has_no_word_of_them() {
        let line = serde_json::to_value(Line::default()).unwrap();

        assert!(line.get("dead_slowdown").is_none() && line.get("among").is_none());
    }

    #[test]
    fn what_the_dead_cost_stands_beside_the_rest() {
        let among = Among {
            dead: 1_000_000,
            alone_p50_ms: 2.0,
            among_p50_ms: 2.1,
            alone_per_s: 400.0,
            among_per_s: 380.0,
            dead_slowdown: 1.05,
        };
        let line = Line {
            among: Some(among),
            ..Line::default()
        };

        assert_eq!(serde_json::to_value(&line).unwrap()["dead_slowdown"], 1.05);
        assert!(line.for_people().ends_with("so 1.05 times as long"));
    }
}
