//! A worker on one `Work` stream: what arrives in a frame is ended in one frame, which gives its credit back too.

use std::collections::HashMap;
use std::sync::Arc;

use cambium_client::{Connection, NoDeadline};
use cambium_proto::hypha::v1::{Completion, EndResult, WorkRequest, WorkResponse};
use cambium_service_kit::shutdown::Stop;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use uuid::Uuid;

use super::hand::{OUTPUT, is_lost, refused};
use super::tally::{Tally, run_of};

pub(super) struct Stream {
    pub(super) connection: Connection,
    pub(super) registration: String,
    pub(super) tally: Arc<Tally>,
    pub(super) stop: Stop,
}

/// The run of each attempt whose end was sent and not answered, by lease.
type Sent = HashMap<Uuid, Uuid>;

impl Stream {
    pub(super) async fn work(self, credit: u32) -> anyhow::Result<()> {
        // Room for a frame per attempt: sending never waits, and so never keeps from reading.
        let (say, said) = mpsc::channel(credit as usize + 1);
        let first = WorkRequest {
            registration_id: self.registration,
            credit,
            ..WorkRequest::default()
        };
        say.send(first).await?;
        let mut request = Request::new(ReceiverStream::new(said));
        request.extensions_mut().insert(NoDeadline);
        let mut frames = self.connection.workers().work(request).await?.into_inner();

        let mut say = Some(say);
        let mut sent = Sent::with_capacity(credit as usize);
        let mut stopped = std::pin::pin!(self.stop.stopped());
        loop {
            let frame = tokio::select! {
                frame = frames.message() => frame?,
                // Our half ends; the service ends its own once it has answered all.
                () = &mut stopped, if say.is_some() => {
                    say = None;
                    continue;
                }
            };
            let Some(mut frame) = frame else {
                anyhow::ensure!(say.is_none(), "the service ended the stream");
                return Ok(());
            };
            settle(&self.tally, &mut sent, &frame.results)?;
            if let (Some(answer), Some(say)) = (answer(&mut frame, &mut sent)?, &say) {
                say.send(answer).await?;
            }
        }
    }
}

/// Ends all attempts of a frame and gives their credit back; none if it brought none.
fn answer(frame: &mut WorkResponse, sent: &mut Sent) -> anyhow::Result<Option<WorkRequest>> {
    if frame.attempts.is_empty() {
        return Ok(None);
    }
    let mut completions = Vec::with_capacity(frame.attempts.len());
    for attempt in frame.attempts.drain(..) {
        let lease = attempt.lease.unwrap_or_default();
        sent.insert(Uuid::try_parse(&lease.lease_id)?, run_of(&lease)?);
        completions.push(Completion {
            lease: Some(lease),
            output: OUTPUT,
            usage: None,
        });
    }
    Ok(Some(WorkRequest {
        credit: u32::try_from(completions.len())?,
        completions,
        ..WorkRequest::default()
    }))
}

/// Counts what was accepted.
fn settle(tally: &Tally, sent: &mut Sent, results: &[EndResult]) -> anyhow::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    refused(results)?;
    let lost = results.iter().filter(|one| is_lost(one)).count();
    let mut runs = Vec::with_capacity(results.len());
    for result in results {
        let run = sent.remove(&Uuid::try_parse(&result.lease_id)?);
        if result.reason.is_empty() {
            runs.extend(run);
        }
    }
    tally.done(runs);
    if lost > 0 {
        tally.lost(lost as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::{Attempt, Lease};

    use super::*;
    use crate::bench::job::Closed;

    const RUN: Uuid = Uuid::from_u128(9);

    fn attempt(lease: u128) -> Attempt {
        Attempt {
            lease: Some(Lease {
                task_id: format!("{RUN}/a"),
                lease_id: Uuid::from_u128(lease).as_simple().to_string(),
                epoch: 1,
            }),
            ..Attempt::default()
        }
    }

    fn result(lease: u128, reason: &str) -> EndResult {
        EndResult {
            lease_id: Uuid::from_u128(lease).as_simple().to_string(),
            reason: reason.to_owned(),
            ..EndResult::default()
        }
    }

    #[test]
    fn a_frame_is_answered_by_one_frame_that_gives_its_credit_back() {
        let mut frame = WorkResponse {
            attempts: vec![attempt(1), attempt(2)],
            ..WorkResponse::default()
        };
        let mut sent = Sent::new();

        let answer_ = answer(&mut frame, &mut sent).unwrap().unwrap();

        assert_eq!((answer_.credit, answer_.completions.len()), (2, 2));
        assert_eq!(sent.len(), 2);
        assert_eq!(answer(&mut frame, &mut sent).unwrap(), None);
    }

    #[test]
    fn results_come_in_any_order_and_are_counted_once() {
        let tally = Tally::new(0);
        let mut sent: Sent = (1..=3).map(|lease| (Uuid::from_u128(lease), RUN)).collect();

        settle(&tally, &mut sent, &[result(3, ""), result(1, "LEASE_LOST")]).unwrap();
        settle(&tally, &mut sent, &[result(3, ""), result(2, "")]).unwrap();

        assert_eq!(tally.closed(), Closed { tasks: 2, lost: 1 });
        assert!(sent.is_empty());
    }
}
