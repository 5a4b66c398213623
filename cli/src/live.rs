//! A run drawn in the terminal while it goes on, at most ten times a second. Thin: [`picture`] folds what happens,
//! [`frame`] decides what is shown.

mod frame;
mod picture;
mod screen;

use std::cell::RefCell;
use std::convert::Infallible;
use std::time::Duration;

use cambium_client::Connection;
use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::hypha::v1::{Run, TaskState, WatchRunResponse, watch_run_response};
use chrono::DateTime;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::follow::{self, Follow};
use crate::{runs, tasks};
use picture::Picture;
pub(crate) use screen::Screen;

/// Between two drawings.
const FRAME: Duration = Duration::from_millis(100);
/// States whose tasks are known by name while they last.
const LIVE: [TaskState; 4] = [
    TaskState::Ready,
    TaskState::Running,
    TaskState::BackingOff,
    TaskState::Parked,
];

/// What becomes of the picture when the run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// It stays, for there is nothing else to see.
    Stays,
    /// It goes, for the figures are printed.
    Goes,
}

/// Draws until the run ends, and returns the ended run.
///
/// Begins with the run as it stands rather than with its history, which may be long, or no longer kept.
pub(crate) async fn draw(
    follow: Follow<'_>,
    mut screen: Screen,
    last: Last,
) -> anyhow::Result<Run> {
    let (connection, workspace) = (follow.connection, follow.workspace.clone());
    let run_id = follow.run_id.clone();
    let run = follow::get(connection, &workspace, &run_id).await?;
    let begun = Instant::now();
    let picture = RefCell::new(seed(connection, &run).await?);
    let follow = Follow {
        after_seq: run.seq,
        ..follow
    };

    let following = follow.each(|item: &WatchRunResponse| {
        if let Some(watch_run_response::Item::Event(event)) = &item.item {
            picture.borrow_mut().see(event, begun.elapsed());
        }
        Ok(())
    });
    let painting = async {
        let mut ticks = interval(FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let mut picture = picture.borrow_mut();
            screen.paint(&picture.take_failures(), &picture.view(begun.elapsed()));
        }
    };
    tokio::select! {
        followed = following => followed?,
        never = painting => { let never: Infallible = never; match never {} }
    }

    let run = follow::get(connection, &workspace, &run_id).await?;
    let mut picture = picture.into_inner();
    picture.settle(&run);
    screen.paint(&picture.take_failures(), &picture.view(begun.elapsed()));
    if last == Last::Goes {
        screen.clear();
    }
    Ok(run)
}

/// The run as it stands, with the tasks that are on their way. Events after the run's `seq` may tell of them again,
/// which changes nothing.
async fn seed(connection: &Connection, run: &Run) -> anyhow::Result<Picture> {
    let mut picture = Picture::of(run, gone_on(run));
    for state in LIVE {
        for task in tasks::in_state(connection, run, state, usize::MAX).await? {
            picture.find(task.key, state);
        }
    }
    Ok(picture)
}

/// Since the run's start, by this machine's clock: a few seconds more or less are no matter here.
fn gone_on(run: &Run) -> Duration {
    if run.end_time.is_some() {
        return runs::lasted(run);
    }
    let start = run.start_time.as_ref();
    let start = start.and_then(|at| DateTime::from_timestamp(at.seconds, 0));
    let gone = start.map(|start| SystemClock.now() - start);
    gone.and_then(|gone| gone.to_std().ok()).unwrap_or_default()
}
