//! What all scenarios share: a stack of its own in this process, the load in a child, readings around it, one line.

use std::time::Instant;

use super::child::Child;
use super::goal::{self, Goal};
use super::job::{BEGIN, Closed, Job, Loaded};
use super::line::{Figures, Line};
use super::meter::{Meter, Spent};
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::folder::Folder;
use crate::stack::{Stack, StackOptions};

/// One measurement.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) scenario: &'static str,
    pub(super) client: String,
    pub(super) in_flight: u32,
    pub(super) job: Job,
    pub(super) goals: Vec<Goal>,
}

/// Measures, prints, and says on standard error what it means.
pub(super) async fn run(plan: Plan, context: &Context) -> anyhow::Result<Exit> {
    let home = tempfile::Builder::new()
        .prefix("cambium-bench-")
        .tempdir()?;
    let folder = Folder::at(home.path().join("data"));
    let stack = Stack::start(StackOptions {
        folder: folder.clone(),
        port: 0,
    })
    .await?;
    let measured = measure(&plan.job, &stack, &folder).await;
    let stopped = stack.stop().await;
    let figures = measured?;
    stopped?;
    if figures.closed.lost > 0 {
        let lost = figures.closed.lost;
        hint(&format!(
            "{lost} leases ran out before their tasks were done"
        ));
    }
    let line = Line::of(plan.scenario, plan.client, plan.in_flight, figures);
    context.print_value(&line, Line::for_people)?;
    for verdict in goal::verdicts(&serde_json::to_value(&line)?, &plan.goals) {
        hint(&verdict);
    }
    Ok(Exit::Done)
}

async fn measure(job: &Job, stack: &Stack, folder: &Folder) -> anyhow::Result<Figures> {
    let meter = Meter::new(stack.postgres()?).await?;
    let cal_before = meter.calibrate().await?;
    let commits_before = meter.commits().await?;
    let mut child = Child::spawn(job, folder)?;
    let client = child.id()?;

    child.expect(BEGIN).await?;
    let start = meter.read(client).await?;
    let begun = Instant::now();
    child.go_on().await?;
    let loaded: Loaded = child.answer().await?;
    let end = meter.read(client).await?;
    let spent = Spent::between(&start, &end, begun.elapsed());

    child.go_on().await?;
    let closed: Closed = child.answer().await?;
    let commits = meter.last_commits().await? - commits_before;
    child.ended().await?;
    Ok(Figures {
        loaded,
        spent,
        closed,
        #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
        commits: commits as f64,
        cal: (cal_before, meter.calibrate().await?),
    })
}
