//! The five-task graph again and again, done by many agents, and how soon what they gave each other can be seen in immune.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::immune::v1::{
    ExplainStandingRequest, GetPolicyRequest, LedgerEntry, Policy, PutPolicyRequest, ScoreKind,
};
use cambium_service_kit::shutdown::Stop;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{sleep, timeout};

use super::crew::Crew;
use super::cycle::{CLOSING, LONG_POLL, WARM_UP};
use super::parent::Parent;
use super::shape::Shape;
use super::site::Site;
use super::tally::Tally;
use super::witness::{Due, Witness};
use super::{Workers, beside, joined, starts};
use crate::ask::ask;
use crate::bench::client::Means;
use crate::bench::spread::{percentile_ms, rounded};
use crate::context::{Context, request_id};

#[derive(Clone, Copy, Debug)]
pub(super) struct Thanks {
    pub(super) means: Means,
    pub(super) in_flight: u32,
    pub(super) seconds: u32,
}

/// So many that no ledger is longer than a look at its newest rows.
const AGENTS: u32 = 32;
/// Who looks at sampled runs, each at one at a time.
const LOOKERS: usize = 4;
/// A look takes a call, and the service has other work.
const BETWEEN: Duration = Duration::from_millis(1);
/// What is not visible by then is counted as never.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows that a look reads: at full speed an agent gets less than that in a second.
const PAGE: i32 = 200;

/// From a completion's answer until its gratitude was seen; none where it was not seen in time.
type Looks = Arc<Mutex<Vec<Option<Duration>>>>;

impl Thanks {
    pub(super) async fn run(self, context: &Context, parent: &mut Parent) -> anyhow::Result<()> {
        let site = Site::with_agents(context, AGENTS).await?;
        credit_everything(&site).await?;
        let stored = site.put(Shape::Diamond.graph()).await?;
        let mut crew = Crew::gather(&site, self.means, Tally::new(self.in_flight)).await?;
        let (witness, heard) = Witness::new();
        let witness = Arc::new(witness);
        crew.witness = Some(Arc::clone(&witness));

        let looks = Looks::default();
        let mut workers = crew.start(&Stop::new(), LONG_POLL);
        look(&site, heard, &looks, &mut workers)?;
        let endless = (u64::MAX, self.in_flight);
        let starters = starts::start(&site, &stored, &crew.tally, endless)?;
        let measured = async {
            let mut starters = starters;
            let window = self.window(&site, &crew.tally, &witness, &looks, parent);
            beside(&mut starters, window).await?;
            close(&crew.tally, starters, parent).await
        };
        beside(&mut workers, measured).await
    }

    async fn window(
        self,
        site: &Site<'_>,
        tally: &Tally,
        witness: &Witness,
        looks: &Looks,
        parent: &mut Parent,
    ) -> anyhow::Result<()> {
        let seconds = Duration::from_secs(self.seconds.into());
        sleep(WARM_UP).await;
        let before = rows(site).await?;
        parent.begin().await?;
        let begun = Instant::now();
        tally.measure(u64::MAX);
        witness.look(true);
        sleep(seconds).await;
        witness.look(false);
        let mut loaded = tally.seen(Some(seconds))?.loaded;
        let after = rows(site).await?;
        let took = begun.elapsed().as_secs_f64();

        #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
        let (signals, tasks) = (
            (after - before) as f64 / took,
            loaded.tasks as f64 / loaded.wall_s,
        );
        loaded.extra = figures(&looks.lock().await);
        loaded.extra.extend([
            ("signals_per_s".to_owned(), json!(rounded(signals, 0))),
            (
                "signals_per_task".to_owned(),
                json!(rounded(signals / tasks.max(f64::EPSILON), 2)),
            ),
        ]);
        parent.loaded(&loaded).await
    }
}

async fn close(tally: &Tally, starters: Workers, parent: &mut Parent) -> anyhow::Result<()> {
    tally.room.close();
    joined(starters).await?;
    timeout(CLOSING, tally.until_ended(tally.started_so_far()))
        .await
        .context("the last runs do not end")?;
    parent.closed(tally.closed()).await
}

/// Every gift moves its giver, a little, for as long as the bench runs: no cap bites and no score is full.
async fn credit_everything(site: &Site<'_>) -> anyhow::Result<()> {
    let request = GetPolicyRequest {
        workspace_id: site.workspace(),
    };
    let policy = ask!(site.operator, generosity.get_policy(request))?.policy;
    let request = PutPolicyRequest {
        workspace_id: site.workspace(),
        request_id: request_id(),
        policy: Some(Policy {
            contribution_bonus: 0.000_001,
            pair_daily_cap: 1_000_000,
            ..policy.unwrap_or_default()
        }),
    };
    ask!(site.operator, generosity.put_policy(request))?;
    Ok(())
}

/// Sets the lookers to work.
fn look(
    site: &Site<'_>,
    heard: mpsc::Receiver<Due>,
    looks: &Looks,
    workers: &mut Workers,
) -> anyhow::Result<()> {
    let heard = Arc::new(Mutex::new(heard));
    for _ in 0..LOOKERS {
        let looker = Looker {
            connection: site.operator_connection()?,
            workspace: site.workspace(),
            heard: Arc::clone(&heard),
            looks: Arc::clone(looks),
        };
        workers.spawn(looker.work());
    }
    Ok(())
}

struct Looker {
    connection: Connection,
    workspace: String,
    heard: Arc<Mutex<mpsc::Receiver<Due>>>,
    looks: Looks,
}

impl Looker {
    async fn work(self) -> anyhow::Result<()> {
        loop {
            let Some(due) = self.heard.lock().await.recv().await else {
                return Ok(());
            };
            let seen = self.until_seen(&due).await?;
            self.looks.lock().await.push(seen);
        }
    }

    async fn until_seen(&self, due: &Due) -> anyhow::Result<Option<Duration>> {
        let run = due.run.to_string();
        let is_own = |entry: &&LedgerEntry| entry.workflow_run_id == run;
        loop {
            let entries = newest(&self.connection, &self.workspace, &due.giver, PAGE).await?;
            let waited = due.at.elapsed();
            if entries.iter().filter(is_own).count() >= due.rows {
                return Ok(Some(waited));
            }
            if waited > PATIENCE {
                return Ok(None);
            }
            sleep(BETWEEN).await;
        }
    }
}

async fn newest(
    connection: &Connection,
    workspace: &str,
    agent: &str,
    most: i32,
) -> anyhow::Result<Vec<LedgerEntry>> {
    let request = ExplainStandingRequest {
        workspace_id: workspace.to_owned(),
        agent_id: agent.to_owned(),
        name: String::new(),
        score: ScoreKind::Generosity.into(),
        page_size: most,
        page_token: String::new(),
    };
    Ok(ask!(connection, standings.explain_standing(request))?.entries)
}

/// Facts that immune has applied so far to the generosity of all agents: each ledger counts its rows.
async fn rows(site: &Site<'_>) -> anyhow::Result<i64> {
    let mut rows = 0;
    for agent in &site.agent_ids {
        let entries = newest(&site.operator, &site.workspace(), agent, 1).await?;
        rows += entries.first().map_or(0, |entry| entry.seq);
    }
    Ok(rows)
}

fn figures(looks: &[Option<Duration>]) -> Map<String, Value> {
    let mut seen: Vec<Duration> = looks.iter().flatten().copied().collect();
    seen.sort_unstable();
    let never = looks.len() - seen.len();
    let figures = [
        (
            "visible_p50_ms",
            json!(rounded(percentile_ms(&seen, 50), 2)),
        ),
        (
            "visible_p99_ms",
            json!(rounded(percentile_ms(&seen, 99), 2)),
        ),
        ("visible_samples", json!(seen.len())),
        ("never_visible", json!(never)),
    ];
    let figures = figures.into_iter();
    figures
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_seen_is_counted_apart() {
        let looks = [
            Some(Duration::from_millis(4)),
            None,
            Some(Duration::from_millis(2)),
        ];

        let figures = figures(&looks);

        assert_eq!(
            (&figures["visible_p50_ms"], &figures["visible_p99_ms"]),
            (&json!(2.0), &json!(4.0))
        );
        assert_eq!(
            (&figures["visible_samples"], &figures["never_visible"]),
            (&json!(2), &json!(1))
        );
    }
}
