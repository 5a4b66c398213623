//! `cambium demo --swarm`: three minds of unequal shares take their turns from one wallet, as fast as they can, and what each has spent is
//! held against what its share entitles it to.
//!
//! The minds' body is this process: it takes each turn, and meters it at a cost that a real turn once had. Nobody thinks here.

mod body;
mod costs;
mod setting;
mod summary;

use std::path::PathBuf;

use anyhow::Context as _;
use cambium_client::Connection;
use tempfile::TempDir;

use crate::context::{Context, hint};
use crate::credentials::{self, WorkerWish};
use crate::exit::Exit;
use crate::folder::Folder;
use crate::fsck;
use crate::stack::{Stack, StackOptions};
use body::Body;
use costs::Costs;
use summary::Summary;

/// Turns that are taken.
const TURNS: usize = 60;
const WORKSPACE: &str = "default";
/// The name of the minds' body, in their targets and in its token.
const BODY: &str = "demo";
/// The minds, each with its weight in parts per million.
const MINDS: [(&str, i64); 3] = [
    ("eureka", 4_000_000),
    ("weksa", 2_000_000),
    ("umbra", 1_000_000),
];

pub(super) async fn run(
    costs: Option<&PathBuf>,
    keep: bool,
    context: &Context,
) -> anyhow::Result<Exit> {
    let asked = crate::up::asked_to_stop();
    let costs = Costs::read(costs)?;
    let folder = tempfile::Builder::new().prefix("cambium-demo-").tempdir();
    let folder =
        folder.context("no temporary folder can be made: check that the disk is not full")?;
    hint("starting a private Postgres and the services …");
    let mut stack = Stack::start(StackOptions {
        folder: Folder::at(folder.path()),
        port: 0,
    })
    .await?;
    let played = tokio::select! {
        played = play(&mut stack, folder.path().into(), costs) => played,
        () = asked.stopped() => Err(anyhow::anyhow!("interrupted")),
    };
    stack.stop().await?;
    let summary = played?;
    context.print_value(&summary, Summary::for_people)?;
    tell_next(folder, keep)?;
    Ok(summary.exit())
}

async fn play(stack: &mut Stack, folder: PathBuf, costs: Costs) -> anyhow::Result<Summary> {
    let folder = Folder::at(folder);
    let operator = Connection::open(stack.url(), stack.token_source()?, Default::default())?;
    let worker = credentials::worker(
        &folder,
        WorkerWish {
            worker: BODY.to_owned(),
            workspace: WORKSPACE.to_owned(),
            agent_ids: Vec::new(),
            capabilities: Vec::new(),
        },
    )?;
    let body = Body {
        operator: operator.clone(),
        worker: Connection::open(stack.url(), worker, Default::default())?,
        meter: Connection::open(
            stack.url(),
            credentials::meter(&folder, WORKSPACE)?,
            Default::default(),
        )?,
    };
    hint(&format!(
        "{TURNS} turns of {} minds, by {} …",
        MINDS.len(),
        costs.origin()
    ));
    let cap = costs.dearest();
    setting::open_minds(&operator).await?;
    let taking = body.take(costs, TURNS);
    let order = tokio::select! {
        taken = async {
            let (taken, set) = tokio::join!(taking, setting::open_the_tap(&operator, cap));
            set.and(taken)
        } => taken?,
        ended = stack.ended() => return Err(ended.err().unwrap_or_else(|| anyhow::anyhow!("the services ended"))),
    };
    hint(&format!("whose turn it was: {}", order.join(" ")));
    let url = folder
        .database_url()
        .context("the stack's database is not written down")?;
    let violations = fsck::check(&url, "I-W").await?;
    Summary::of(&operator, &violations).await
}

fn tell_next(folder: TempDir, keep: bool) -> anyhow::Result<()> {
    if keep {
        let data = folder.keep();
        let data = data.display();
        hint(&format!(
            "kept in {data}: start it again with `cambium up --data {data}`, then see"
        ));
        hint(&format!("  cambium timeline --data {data}"));
        return Ok(());
    }
    folder
        .close()
        .context("the temporary folder could not be removed")?;
    hint("next: cambium up                    a stack that stays");
    hint("      cambium mind open --help      a mind of your own");
    Ok(())
}
