//! What the events of an ended run say, and the laws that they obey whatever happened to it.

use std::collections::BTreeMap;

use cambium_proto::hypha::v1::{RunEvent, RunEventKind};

/// The events of one run, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Accepted completions of each task.
    pub(crate) succeeded: BTreeMap<String, usize>,
    /// Leases of each task.
    pub(crate) leased: BTreeMap<String, usize>,
    /// Leases that were lost, of all tasks.
    pub(crate) lost: usize,
}

impl Account {
    /// Counts the events of an ended run, which must be all there in their order, end once, and accept no more than one
    /// completion of any task, of its last lease.
    pub(crate) fn of(events: &[RunEvent]) -> Self {
        let mut account = Self::default();
        let mut epochs: BTreeMap<&str, i32> = BTreeMap::new();
        for (place, event) in (1..).zip(events) {
            assert_eq!(event.seq, place, "events are numbered without gaps");
            let task = event.task.as_str();
            match event.kind() {
                RunEventKind::TaskLeased => {
                    let before = epochs.insert(task, event.epoch).unwrap_or(0);
                    assert!(
                        before < event.epoch,
                        "a new lease has a new epoch: {event:?}"
                    );
                    *account.leased.entry(task.to_owned()).or_default() += 1;
                }
                RunEventKind::TaskSucceeded => {
                    let last = epochs.get(task).copied();
                    assert_eq!(last, Some(event.epoch), "of its last lease: {event:?}");
                    *account.succeeded.entry(task.to_owned()).or_default() += 1;
                }
                RunEventKind::TaskLeaseLost => account.lost += 1,
                _ => {}
            }
        }
        let ends = |event: &&RunEvent| event.kind() == RunEventKind::RunEnded;
        assert_eq!(events.iter().filter(ends).count(), 1, "a run ends once");
        assert!(
            events.last().is_some_and(|last| ends(&last)),
            "and then it is over"
        );
        let twice = account.succeeded.iter().find(|(_, times)| **times > 1);
        assert_eq!(twice, None, "no task is completed twice");
        account
    }
}
