use prost_types::Timestamp;

use super::*;

const NOW: i64 = 1_700_000_000;

fn facts() -> Facts {
    Facts {
        run: "nightly".to_owned(),
        flags: String::new(),
        state: RunState::Running,
        task: TaskState::Unspecified,
        now: DateTime::from_timestamp(NOW, 0).unwrap(),
        requires: BTreeMap::new(),
        undone: Vec::new(),
    }
}

fn reason(kind: ReasonKind, subjects: &[&str]) -> Reason {
    Reason {
        kind: kind.into(),
        task: "draft[2]".to_owned(),
        text: "so it is".to_owned(),
        subjects: subjects.iter().map(|&name| name.to_owned()).collect(),
        ..Reason::default()
    }
}

fn until(reason: Reason, seconds: i64) -> Reason {
    Reason {
        until: Some(Timestamp {
            seconds: NOW + seconds,
            nanos: 0,
        }),
        ..reason
    }
}

/// The lines under one reason.
fn under(reason: Reason, facts: &Facts) -> Vec<String> {
    let told = told("running", &[reason], facts);
    let lines = told
        .lines()
        .skip(2)
        .map(|line| line.trim_start().to_owned());
    lines.collect()
}

#[test]
fn a_reason_is_told_with_its_task_kind_and_sentence() {
    let told = told("running", &[reason(ReasonKind::BackingOff, &[])], &facts());

    assert_eq!(told, "running\n  draft[2]: backing off: so it is");
}

#[test]
fn what_waits_on_edges_sends_to_the_nodes_before_it() {
    let waiting = reason(ReasonKind::WaitingOnEdges, &["plan", "odd key", "c", "d"]);

    let under = under(waiting, &facts());

    assert_eq!(
        under,
        [
            "next: cambium why nightly plan",
            "next: cambium why nightly 'odd key'",
            "next: cambium why nightly c",
        ]
    );
}

#[test]
fn a_condition_is_looked_at_again() {
    let under = under(reason(ReasonKind::Condition, &[]), &facts());

    assert_eq!(under, ["next: cambium why nightly 'draft[2]'"]);
}

#[test]
fn a_back_off_ends_by_itself() {
    let under = under(until(reason(ReasonKind::BackingOff, &[]), 12), &facts());

    assert_eq!(under, ["tried again in 12 s"]);
}

#[test]
fn a_parked_task_wants_its_signal_or_its_time() {
    let parked = until(reason(ReasonKind::Parked, &["approved"]), 250);

    let under = under(parked, &facts());

    assert_eq!(
        under,
        [
            "goes on without the signal in 4 min 10 s",
            "next: cambium signal nightly approved '{}'",
        ]
    );
}

#[test]
fn a_paused_run_is_resumed() {
    let facts = Facts {
        flags: " --workspace north".to_owned(),
        ..facts()
    };

    let under = under(reason(ReasonKind::Paused, &[]), &facts);

    assert_eq!(under, ["next: cambium resume nightly --workspace north"]);
}

#[test]
fn an_agent_is_enrolled_with_all_that_the_node_requires() {
    let known = Facts {
        requires: BTreeMap::from([(
            "draft".to_owned(),
            vec!["role:writer".to_owned(), "lang:is".to_owned()],
        )]),
        ..facts()
    };
    let lacking = || reason(ReasonKind::NoEligibleAgent, &["lang:is"]);
    let worker = "next: cambium worker --agent NAME --exec CMD";

    assert_eq!(
        under(lacking(), &known),
        [
            "next: cambium enroll NAME --capability role:writer --capability lang:is",
            worker
        ]
    );
    assert_eq!(
        under(lacking(), &facts()),
        ["next: cambium enroll NAME --capability lang:is", worker]
    );
    assert_eq!(
        under(reason(ReasonKind::NoEligibleAgent, &[]), &facts()),
        ["next: cambium enroll NAME --capability CAPABILITY", worker]
    );
}

#[test]
fn where_all_are_busy_another_worker_helps() {
    let known = Facts {
        requires: BTreeMap::from([("draft".to_owned(), vec!["role:writer".to_owned()])]),
        ..facts()
    };

    let under = under(reason(ReasonKind::AllBusy, &[]), &known);

    assert_eq!(
        under,
        ["next: cambium worker --agent NAME --capability role:writer --exec CMD"]
    );
}

#[test]
fn a_place_in_the_queue_counts_from_one() {
    let queued = Reason {
        place: 12,
        ..until(reason(ReasonKind::Queued, &[]), 30)
    };

    let under = under(queued, &facts());

    assert_eq!(
        under,
        [
            "its time to wait for an agent is over in 30 s",
            "place 13 in its queue",
            "next: cambium worker --agent NAME --exec CMD",
        ]
    );
}

#[test]
fn what_runs_or_is_being_cancelled_can_be_watched() {
    let running = until(reason(ReasonKind::Running, &[]), 8);

    assert_eq!(
        under(running, &facts()),
        [
            "its lease ends in 8 s unless it is renewed",
            "next: cambium watch nightly",
        ]
    );
    assert_eq!(
        under(reason(ReasonKind::Cancelling, &[]), &facts()),
        ["next: cambium watch nightly"]
    );
}

#[test]
fn a_run_that_did_not_succeed_is_run_again_from_what_is_undone() {
    let failed = Facts {
        state: RunState::Failed,
        undone: vec![
            "draft[1]".to_owned(),
            "draft[2]".to_owned(),
            "check".to_owned(),
        ],
        ..facts()
    };
    let succeeded = Facts {
        state: RunState::Succeeded,
        ..facts()
    };
    let ended = || reason(ReasonKind::Ended, &[]);

    assert_eq!(
        under(ended(), &failed),
        ["next: cambium rerun nightly --from check --from draft"]
    );
    assert_eq!(
        under(ended(), &succeeded),
        ["next: cambium run-show nightly"]
    );
}

#[test]
fn a_task_that_has_ended_is_done_again_once_its_run_has_ended() {
    let of = |state, task| {
        let facts = Facts {
            state,
            task,
            ..facts()
        };
        under(reason(ReasonKind::Ended, &[]), &facts)
    };

    let again = ["next: cambium rerun nightly --from draft"];
    assert_eq!(of(RunState::Failed, TaskState::Failed), again);
    assert_eq!(of(RunState::Succeeded, TaskState::Succeeded), again);
    assert_eq!(
        of(RunState::Running, TaskState::Failed),
        ["next: cambium watch nightly"]
    );
    assert_eq!(
        of(RunState::Succeeded, TaskState::Skipped),
        ["next: cambium run-show nightly"]
    );
}

#[test]
fn a_reason_of_a_newer_service_is_told_without_a_hint() {
    assert_eq!(
        under(reason(ReasonKind::Unspecified, &[]), &facts()),
        Vec::<String>::new()
    );
}

#[test]
fn a_command_that_helps_against_several_is_told_once() {
    let two = [
        reason(ReasonKind::Running, &[]),
        reason(ReasonKind::Running, &[]),
    ];

    let told = told("running", &two, &facts());

    assert_eq!(told.matches("next: ").count(), 1, "{told}");
}

#[test]
fn work_for_agents_in_quarantine_says_until_when_and_how_to_let_them_out() {
    let quarantined = until(
        reason(ReasonKind::Quarantined, &["ada", "odd name", "c", "d"]),
        250,
    );

    let under = under(quarantined, &facts());

    assert_eq!(
        under,
        [
            "the first of them is let out in 4 min 10 s",
            "next: cambium quarantines",
            "next: cambium release ada --reason TEXT",
            "next: cambium release 'odd name' --reason TEXT",
            "next: cambium release c --reason TEXT",
        ]
    );
}
