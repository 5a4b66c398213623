//! A worker that takes and ends tasks by plain calls. Does nothing in between.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cambium_client::{Authorized, refusal};
use cambium_proto::hypha::v1::worker_service_client::WorkerServiceClient;
use cambium_proto::hypha::v1::{
    Attempt, CompleteManyRequest, CompleteRequest, Completion, EndResult, PollRequest,
};
use cambium_service_kit::shutdown::Stop;
use uuid::Uuid;

use super::tally::{Tally, run_of};
use super::witness::Witness;

/// What every task of a bench comes to.
pub(super) const OUTPUT: Bytes = Bytes::from_static(br#"{"ok":true}"#);

/// The worker was too slow: the task is somebody else's by now.
const LOST: &str = "LEASE_LOST";

pub(super) struct Hand {
    pub(super) client: WorkerServiceClient<Authorized>,
    pub(super) registration: String,
    pub(super) tally: Arc<Tally>,
    pub(super) witness: Option<Arc<Witness>>,
    pub(super) stop: Stop,
    /// How long a poll waits.
    pub(super) wait: Duration,
}

impl Hand {
    /// One task after the other: each completion asks for the next attempt in its reply.
    pub(super) async fn one_by_one(mut self) -> anyhow::Result<()> {
        while !self.stop.is_stopped() {
            let mut held = self.poll(1).await?;
            while let Some(attempt) = held.pop() {
                held = self.complete(attempt).await?;
            }
        }
        Ok(())
    }

    /// All that came with one reply is ended by the next call.
    pub(super) async fn by_batches(mut self, batch: u32) -> anyhow::Result<()> {
        let mut runs = Vec::with_capacity(batch as usize);
        while !self.stop.is_stopped() {
            let mut held = self.poll(batch).await?;
            while !held.is_empty() {
                let told = self.witness.as_ref().map(|_| deeds(&held));
                let completions = completions(held, &mut runs)?;
                let request = CompleteManyRequest {
                    registration_id: self.registration.clone(),
                    completions,
                    next: batch,
                };
                let reply = self.client.complete_many(request).await?.into_inner();
                settle(&self.tally, runs.drain(..), &reply.results)?;
                if let (Some(witness), Some(told)) = (&self.witness, told) {
                    let accepted = told.iter().zip(&reply.results);
                    let accepted = accepted.filter(|(_, one)| one.reason.is_empty());
                    accepted.for_each(|((task, agent), _)| witness.saw(task, agent));
                }
                held = reply.next;
            }
        }
        Ok(())
    }

    async fn poll(&mut self, max: u32) -> anyhow::Result<Vec<Attempt>> {
        let poll = PollRequest {
            registration_id: self.registration.clone(),
            max,
            wait_ms: u32::try_from(self.wait.as_millis())?,
        };
        Ok(self.client.poll(poll).await?.into_inner().attempts)
    }

    async fn complete(&mut self, attempt: Attempt) -> anyhow::Result<Vec<Attempt>> {
        let lease = attempt.lease.unwrap_or_default();
        let run = run_of(&lease)?;
        let task = self.witness.as_ref().map(|_| lease.task_id.clone());
        let request = CompleteRequest {
            registration_id: self.registration.clone(),
            lease: Some(lease),
            output: OUTPUT,
            usage: None,
            next: 1,
        };
        match self.client.complete(request).await {
            Ok(reply) => {
                self.tally.done([run]);
                if let (Some(witness), Some(task)) = (&self.witness, task) {
                    witness.saw(&task, &attempt.agent_id);
                }
                Ok(reply.into_inner().next)
            }
            Err(status) if refusal::is(&status, LOST) => {
                self.tally.lost(1);
                Ok(Vec::new())
            }
            Err(status) => Err(status.into()),
        }
    }
}

/// Which task each is, and whose.
fn deeds(held: &[Attempt]) -> Vec<(String, String)> {
    let deed = |attempt: &Attempt| {
        let task = attempt.lease.as_ref().map(|lease| lease.task_id.clone());
        (task.unwrap_or_default(), attempt.agent_id.clone())
    };
    held.iter().map(deed).collect()
}

/// Ends all of `held`, and notes whose they were.
fn completions(held: Vec<Attempt>, runs: &mut Vec<Uuid>) -> anyhow::Result<Vec<Completion>> {
    let completion = |attempt: Attempt| {
        let lease = attempt.lease.unwrap_or_default();
        runs.push(run_of(&lease)?);
        Ok(Completion {
            lease: Some(lease),
            output: OUTPUT,
            usage: None,
        })
    };
    held.into_iter().map(completion).collect()
}

/// Counts what was accepted of the tasks of `runs`, which stand in the order of their results.
fn settle(
    tally: &Tally,
    runs: impl Iterator<Item = Uuid>,
    results: &[EndResult],
) -> anyhow::Result<()> {
    let lost = results.iter().filter(|one| is_lost(one)).count();
    refused(results)?;
    let accepted = runs.zip(results).filter(|(_, one)| one.reason.is_empty());
    tally.done(accepted.map(|(run, _)| run));
    if lost > 0 {
        tally.lost(lost as u64);
    }
    Ok(())
}

pub(super) fn is_lost(result: &EndResult) -> bool {
    result.reason == LOST
}

/// A refusal that no slowness explains is a fault of the load or of the service.
pub(super) fn refused(results: &[EndResult]) -> anyhow::Result<()> {
    let refused = results
        .iter()
        .find(|one| !one.reason.is_empty() && !is_lost(one));
    match refused {
        Some(one) => anyhow::bail!("a completion was refused: {}, {}", one.reason, one.message),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::Lease;

    use super::*;
    use crate::bench::job::Closed;

    const RUN: Uuid = Uuid::from_u128(9);

    fn result(reason: &str) -> EndResult {
        EndResult {
            reason: reason.to_owned(),
            ..EndResult::default()
        }
    }

    #[test]
    fn what_is_lost_is_counted_apart_from_what_is_done() {
        let tally = Tally::new(0);
        let results = [result(""), result("LEASE_LOST"), result("")];

        settle(&tally, [RUN; 3].into_iter(), &results).unwrap();

        assert_eq!(tally.closed(), Closed { tasks: 2, lost: 1 });
    }

    #[test]
    fn any_other_refusal_ends_the_load() {
        let refused = settle(
            &Tally::new(0),
            [RUN].into_iter(),
            &[result("INVALID_OUTPUT")],
        );

        let error = refused.unwrap_err().to_string();
        assert!(error.contains("INVALID_OUTPUT"), "{error}");
    }

    #[test]
    fn every_attempt_held_is_ended_and_its_run_noted() {
        let attempt = |node: &str| Attempt {
            lease: Some(Lease {
                task_id: format!("{RUN}/{node}"),
                ..Lease::default()
            }),
            ..Attempt::default()
        };
        let mut runs = Vec::new();

        let completions = completions(vec![attempt("a"), attempt("b")], &mut runs).unwrap();

        assert_eq!(runs, [RUN, RUN]);
        assert!(completions.iter().all(|one| one.output == OUTPUT));
    }
}
