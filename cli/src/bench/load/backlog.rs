//! Ready tasks pile up while nobody works; then all workers come at once and stay until the last is done.
//!
//! A backlog of a thousand is gone before its rate can be told, so it is drained several times.

use std::time::{Duration, Instant};

use cambium_service_kit::shutdown::Stop;
use serde_json::{Map, Value};

use super::beside;
use super::crew::Crew;
use super::parent::Parent;
use super::shape::Shape;
use super::site::{Site, Stored};
use super::tally::{Seen, Tally};
use crate::bench::client::Means;
use crate::bench::job::Loaded;
use crate::bench::spread::rounded;
use crate::context::Context;

const SMALL: u32 = 1_000;
/// Nodes of each graph of the large backlog.
const LARGE: u32 = 10_000;
const ROUNDS: u32 = 10;
const LAPS: u64 = 10;
/// Short, so that no poll is left over to take the tasks of the next backlog before it is complete.
const SHORT_POLL: Duration = Duration::from_millis(200);

pub(super) async fn run(
    means: Means,
    tasks: u32,
    context: &Context,
    parent: &mut Parent,
) -> anyhow::Result<()> {
    let site = Site::enter(context, &[]).await?;
    let small = site.put(Shape::Roots { tasks: SMALL }.graph()).await?;
    let nodes = LARGE.min(tasks);
    let large = site.put(Shape::Roots { tasks: nodes }.graph()).await?;
    let crew = Crew::gather(&site, means, Tally::new(0)).await?;

    let mut small_s = 0.0;
    for round in 0..=ROUNDS {
        pile(&site, &small, 1, &crew.tally).await?;
        let took = drain(&crew, u64::MAX).await?.took;
        // The first is to warm up.
        small_s += if round > 0 { took.as_secs_f64() } else { 0.0 };
    }

    let runs = tasks.div_ceil(nodes);
    pile(&site, &large, runs, &crew.tally).await?;
    parent.begin().await?;
    let seen = drain(&crew, u64::from(runs) * u64::from(nodes) / LAPS).await?;
    let small_rate = f64::from(SMALL) * f64::from(ROUNDS) / small_s.max(f64::EPSILON);
    parent.loaded(&loaded(seen, small_rate)).await?;
    parent.closed(crew.tally.closed()).await
}

/// Starts runs while nobody works. A start is answered when its tasks are ready.
async fn pile(site: &Site<'_>, stored: &Stored, runs: u32, tally: &Tally) -> anyhow::Result<()> {
    for _ in 0..runs {
        let at = Instant::now();
        let run = stored.start(&site.operator).await?;
        tally.started(run, stored.tasks, at);
    }
    Ok(())
}

/// Lets all workers in until nothing is left, and out again.
async fn drain(crew: &Crew, every: u64) -> anyhow::Result<Seen> {
    let (stop, tally) = (Stop::new(), &crew.tally);
    tally.measure(every);
    let mut workers = crew.start(&stop, SHORT_POLL);
    let ended = async {
        tally.until_ended(tally.started_so_far()).await;
        tally.seen(None)
    };
    let seen = beside(&mut workers, ended).await?;
    crew.dismiss(&stop, workers).await?;
    Ok(seen)
}

/// Both rates side by side; `slowdown` is how many times slower the large backlog was drained.
#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
fn loaded(seen: Seen, small_rate: f64) -> Loaded {
    let tasks = seen.loaded.tasks;
    let rate = tasks as f64 / seen.took.as_secs_f64().max(f64::EPSILON);
    let slowest = seen.laps.iter().max().copied().unwrap_or_default();
    let lap = (tasks / LAPS) as f64;
    let figures = [
        ("backlog_tasks", tasks as f64),
        ("claims_per_s", rounded(rate, 0)),
        ("claims_per_s_of_1000", rounded(small_rate, 0)),
        ("slowdown", rounded(small_rate / rate.max(f64::EPSILON), 2)),
        (
            "claims_per_s_of_slowest_tenth",
            rounded(lap / slowest.as_secs_f64().max(f64::EPSILON), 0),
        ),
    ];
    let extra: Map<String, Value> = figures
        .into_iter()
        .map(|(name, figure)| (name.to_owned(), figure.into()))
        .collect();
    Loaded {
        extra,
        ..seen.loaded
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_large_backlog_is_held_against_a_small_one() {
        let mut laps = vec![Duration::from_secs(1); 10];
        laps[9] = Duration::from_secs(4);
        let seen = Seen {
            loaded: Loaded {
                tasks: 20_000,
                ..Loaded::default()
            },
            took: Duration::from_secs(10),
            laps,
        };

        let extra = loaded(seen, 3_000.0).extra;

        assert_eq!(
            Value::Object(extra),
            json!({
                "backlog_tasks": 20_000.0,
                "claims_per_s": 2_000.0,
                "claims_per_s_of_1000": 3_000.0,
                "slowdown": 1.5,
                "claims_per_s_of_slowest_tenth": 500.0,
            })
        );
    }
}
