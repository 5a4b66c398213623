use cambium_proto::hypha::v1::{GraphVersion, TaskCounts};

use super::*;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn run(total: i64) -> Run {
    Run {
        graph: Some(GraphVersion {
            name: "report".to_owned(),
            version: 3,
            ..GraphVersion::default()
        }),
        state: RunState::Running.into(),
        tasks: Some(TaskCounts {
            total,
            open: total,
            ..TaskCounts::default()
        }),
        ..Run::default()
    }
}

fn event(kind: RunEventKind, task: &str) -> RunEvent {
    RunEvent {
        kind: kind.into(),
        task: task.to_owned(),
        ..RunEvent::default()
    }
}

/// A picture of a run of so many tasks that has seen these events, one a second.
fn seen(total: i64, events: &[(RunEventKind, &str)]) -> Picture {
    let mut picture = Picture::of(&run(total), Duration::ZERO);
    for (at, (kind, task)) in (1..).zip(events) {
        picture.see(&event(*kind, task), seconds(at));
    }
    picture
}

#[test]
fn it_begins_with_the_run_as_it_stands() {
    let mut run = run(10);
    run.tasks = Some(TaskCounts {
        total: 10,
        succeeded: 4,
        failed: 1,
        open: 5,
        reused: 2,
        ..TaskCounts::default()
    });

    let mut picture = Picture::of(&run, seconds(60));
    picture.find("a".to_owned(), TaskState::Running);
    picture.find("b".to_owned(), TaskState::Parked);
    let view = picture.view(seconds(1));

    assert_eq!(view.title, "report v3");
    assert_eq!(
        (
            view.counts.succeeded,
            view.counts.failed,
            view.counts.reused
        ),
        (4, 1, 2)
    );
    assert_eq!((view.running, view.parked, view.waiting), (1, 1, 3));
    assert_eq!(view.tasks[0].took, None, "it ran before the watch began");
    assert_eq!(view.elapsed, seconds(61));
}

#[test]
fn a_task_is_counted_where_its_last_event_puts_it() {
    use RunEventKind::*;
    let view = seen(
        7,
        &[
            (TaskReady, "ready"),
            (TaskLeased, "running"),
            (TaskLeased, "backing"),
            (TaskBackingOff, "backing"),
            (TaskLeased, "parked"),
            (TaskParked, "parked"),
            (TaskLeased, "lost"),
            (TaskLeaseLost, "lost"),
            (TaskLeased, "done"),
            (TaskSucceeded, "done"),
        ],
    )
    .view(seconds(20));

    assert_eq!(
        (view.ready, view.running, view.backing_off, view.parked),
        (2, 1, 1, 1)
    );
    assert_eq!((view.counts.succeeded, view.waiting), (1, 1));
}

#[test]
fn every_end_has_its_count_and_a_failure_is_told_once() {
    use RunEventKind::*;
    let mut picture = seen(
        6,
        &[
            (TaskSucceeded, "a"),
            (TaskFailed, "b"),
            (TaskSkipped, "c"),
            (TaskOmitted, "d"),
            (TaskCancelled, "e"),
        ],
    );

    let counts = Counts {
        succeeded: 1,
        failed: 1,
        skipped: 1,
        omitted: 1,
        cancelled: 1,
        reused: 0,
    };
    assert_eq!(picture.view(seconds(6)).counts, counts);
    let told: Vec<String> = picture
        .take_failures()
        .into_iter()
        .map(|one| one.task)
        .collect();
    assert_eq!(told, ["b"]);
    assert_eq!(picture.take_failures(), []);
}

#[test]
fn what_was_found_and_is_told_of_again_is_counted_once() {
    use RunEventKind::*;
    let mut picture = Picture::of(&run(2), Duration::ZERO);
    picture.find("a".to_owned(), TaskState::Running);

    picture.see(&event(TaskLeased, "a"), seconds(1));
    picture.see(&event(TaskSucceeded, "a"), seconds(2));
    let view = picture.view(seconds(3));

    assert_eq!(
        (view.running, view.counts.succeeded, view.waiting),
        (0, 1, 1)
    );
}

#[test]
fn members_stand_for_their_group() {
    let mut picture = Picture::of(&run(3), Duration::ZERO);
    let fanned = RunEvent {
        detail: "5".to_owned(),
        ..event(RunEventKind::TaskFannedOut, "each")
    };

    picture.see(&event(RunEventKind::TaskReady, "each"), seconds(1));
    picture.see(&fanned, seconds(1));
    let view = picture.view(seconds(1));

    assert_eq!((view.total, view.ready, view.waiting), (7, 0, 7));
}

#[test]
fn the_rate_is_over_the_last_seconds_and_tells_what_is_left() {
    let ends: Vec<(RunEventKind, &str)> = (0..10)
        .map(|_| (RunEventKind::TaskSucceeded, "a"))
        .collect();
    let picture = seen(30, &ends);

    let now = picture.view(seconds(10));
    let later = picture.view(seconds(15));
    let long_after = picture.view(seconds(60));

    assert_eq!((now.rate, now.left), (Some(1.0), Some(seconds(20))));
    assert_eq!(
        (later.rate, later.left),
        (Some(0.6), Some(Duration::from_secs_f64(20.0 / 0.6)))
    );
    assert_eq!((long_after.rate, long_after.left), (None, None));
}

#[test]
fn nothing_is_said_of_the_end_too_early_or_while_nothing_starts() {
    use RunEventKind::*;
    let three = [
        (TaskSucceeded, "a"),
        (TaskSucceeded, "b"),
        (TaskSkipped, "c"),
    ];
    let few = seen(9, &three[..2]).view(seconds(5));
    let mut picture = seen(9, &three);

    let early = picture.view(seconds(1));
    let known = picture.view(seconds(5));
    picture.see(&event(RunPaused, ""), seconds(5));
    let paused = picture.view(seconds(5));
    picture.see(&event(RunResumed, ""), seconds(5));
    let resumed = picture.view(seconds(5));

    assert_eq!((early.rate, early.left), (None, None));
    assert_eq!((few.rate, few.left), (Some(0.4), None));
    assert_eq!((known.rate, known.left), (Some(0.6), Some(seconds(10))));
    assert_eq!(
        (paused.paused, paused.rate, paused.left),
        (true, Some(0.6), None)
    );
    assert_eq!((resumed.paused, resumed.left), (false, known.left));
}

#[test]
fn the_longest_running_tasks_are_shown_first_and_only_a_few() {
    use RunEventKind::*;
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut picture = seen(9, &names.map(|name| (TaskLeased, name)));
    picture.find("before".to_owned(), TaskState::Running);
    picture.see(&event(TaskStopRequested, "b"), seconds(7));

    let tasks = picture.view(seconds(10)).tasks;

    let shown: Vec<&str> = tasks.iter().map(|one| one.task.as_str()).collect();
    assert_eq!(shown, ["before", "a", "b", "c", "d"]);
    assert_eq!(tasks[1].took, Some(seconds(9)));
    assert_eq!(tasks.iter().filter(|one| one.is_stopping).count(), 1);
}

#[test]
fn the_runs_own_figures_have_the_last_word() {
    let mut picture = seen(2, &[(RunEventKind::TaskLeased, "a")]);
    let mut ended = run(2);
    ended.state = RunState::Cancelled.into();
    ended.tasks = Some(TaskCounts {
        total: 2,
        cancelled: 2,
        ..TaskCounts::default()
    });

    picture.settle(&ended);
    let view = picture.view(seconds(3));

    assert_eq!(
        (view.state, view.running, view.waiting),
        (RunState::Cancelled, 0, 0)
    );
    assert_eq!(view.counts.cancelled, 2);
}

#[test]
fn cancelling_children_and_the_end_are_seen() {
    use RunEventKind::*;
    let cancelling = seen(1, &[(ChildStarted, "a"), (RunCancelRequested, "")]);
    let mut ended = seen(1, &[]);
    ended.see(
        &RunEvent {
            run_state: RunState::Failed.into(),
            ..event(RunEnded, "")
        },
        seconds(1),
    );

    let view = cancelling.view(seconds(3));
    assert_eq!((view.state, view.children), (RunState::Cancelling, 1));
    assert_eq!(ended.view(seconds(1)).state, RunState::Failed);
}
