//! The load of a bench, in a process of its own: does what its job says, waits for the bench's word between steps, and
//! tells what it did. Costs as little CPU as it can, since it shares the machine with what it loads.

mod backlog;
mod bulk;
mod crew;
mod cycle;
mod gratitude;
mod hand;
mod marks;
mod parent;
mod replay;
mod shape;
mod site;
mod starts;
mod stream;
mod tally;
mod witness;

use tokio::task::JoinSet;

use super::job::Job;
use crate::context::Context;
use crate::exit::Exit;
use parent::Parent;
pub(super) use shape::Shape;

/// The load of a bench, in a process of its own
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium --data DIR bench load --job '{\"Backlog\":{\"means\":{\"Calls\":{\"hands\":8,\"batch\":64}},\"tasks\":1000}}'"
)]
pub(crate) struct Args {
    /// As JSON
    #[arg(long)]
    job: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let mut parent = Parent::new();
    match serde_json::from_str(&args.job)? {
        Job::Cycle {
            means,
            in_flight,
            seconds,
        } => {
            let cycle = cycle::Cycle {
                means,
                in_flight,
                seconds,
            };
            cycle.run(context, &mut parent).await?;
        }
        Job::Gratitude {
            means,
            in_flight,
            seconds,
        } => {
            let thanks = gratitude::Thanks {
                means,
                in_flight,
                seconds,
            };
            Box::pin(thanks.run(context, &mut parent)).await?;
        }
        Job::Touch { clients, seconds } => {
            marks::touch(clients, seconds, context, &mut parent).await?;
        }
        Job::Sense(sense) => marks::sense(&sense, context, &mut parent).await?,
        Job::Bulk {
            means,
            shape,
            runs,
            in_flight,
        } => {
            let bulk = bulk::Bulk {
                means,
                shape,
                runs,
                in_flight,
            };
            bulk.run(context, &mut parent).await?;
        }
        Job::Backlog { means, tasks } => backlog::run(means, tasks, context, &mut parent).await?,
        Job::Replay(replay) => Box::pin(replay::run(&replay, context, &mut parent)).await?,
    }
    Ok(Exit::Done)
}

/// Tasks that run until they are dropped, and fail for all.
type Workers = JoinSet<anyhow::Result<()>>;

/// Does `work`, unless one of the workers fails first.
async fn beside<T>(
    workers: &mut Workers,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        failure = failure(workers) => Err(failure),
    }
}

/// Why a worker failed. Workers that end well are no news.
async fn failure(workers: &mut Workers) -> anyhow::Error {
    while let Some(ended) = workers.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(error) => return error.into(),
        }
    }
    std::future::pending().await
}

/// Waits until all workers have ended well.
async fn joined(mut workers: Workers) -> anyhow::Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_failure_ends_the_work() {
        let mut workers = Workers::new();
        workers.spawn(async { Ok(()) });
        workers.spawn(async { anyhow::bail!("the wire is cut") });

        let ended = beside(&mut workers, std::future::pending::<anyhow::Result<()>>()).await;

        assert_eq!(ended.unwrap_err().to_string(), "the wire is cut");
    }

    #[tokio::test]
    async fn workers_that_have_ended_leave_the_work_alone() {
        let mut workers = Workers::new();
        workers.spawn(async { Ok(()) });

        let done = beside(&mut workers, async {
            tokio::task::yield_now().await;
            Ok(7)
        });

        assert_eq!(done.await.unwrap(), 7);
    }
}
