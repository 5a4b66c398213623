//! Tells the service how an attempt ended, again and again until it has heard or the lease is lost. The service keeps
//! the ended attempt as its receipt, so repeating is harmless.

use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    Attempt, CompleteRequest, FailRequest, Lease, ParkRequest, ReleaseRequest, Usage,
};
use tonic::{Code, Request, Status};

use super::session::{Patience, Session, is_unknown_registration};
use super::{Failure, Order, Orders, Outcome, Why, payload};
use crate::refusal;

/// The longest detail a service keeps, in bytes.
const LONGEST_DETAIL: usize = 4 << 10;
const DEADLINE: Duration = Duration::from_secs(10);

/// What is to be said of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    Complete {
        output: Bytes,
        usage: Option<Usage>,
    },
    Fail(Failure),
    Park {
        signal: String,
        until: Option<prost_types::Timestamp>,
        checkpoint: Bytes,
    },
    Release,
}

impl Report {
    /// Turns what the work said into what the service hears; `None` when nothing it hears would count.
    pub(crate) fn of(outcome: Outcome, order: Order) -> Option<Self> {
        match (outcome, order) {
            (_, Order::Stop(Why::LeaseLost)) => None,
            (Outcome::Stopped, Order::Stop(Why::Cancelled)) => Some(Self::Fail(Failure::lasting(
                "CANCELLED",
                "stopped because the run is being cancelled",
            ))),
            (Outcome::Stopped, Order::Go | Order::Pause) => Some(Self::Release),
            (Outcome::Completed { output, usage }, _) => Some(match payload::check(&output) {
                Ok(()) => Self::Complete { output, usage },
                Err(failure) => Self::Fail(Failure { usage, ..failure }),
            }),
            (Outcome::Failed(failure), _) => Some(Self::Fail(failure)),
            (
                Outcome::Parked {
                    signal,
                    until,
                    checkpoint,
                },
                _,
            ) => Some(Self::Park {
                signal,
                until,
                checkpoint,
            }),
        }
    }

    /// What to say instead when the service refuses this for good.
    fn instead(&self, status: &Status) -> Option<Self> {
        let Self::Complete { usage, .. } = self else {
            return None;
        };
        let code = match status.code() {
            Code::ResourceExhausted => "OUTPUT_TOO_LARGE",
            Code::InvalidArgument => "INVALID_OUTPUT",
            _ => return None,
        };
        Some(Self::Fail(Failure {
            usage: *usage,
            ..Failure::lasting(code, status.message())
        }))
    }
}

impl Session {
    /// Reports until heard; returns the attempts that came with the answer.
    pub(crate) async fn report(
        &self,
        lease: &Lease,
        mut report: Report,
        next: u32,
        orders: &Orders,
    ) -> Vec<Attempt> {
        let mut patience = Patience::default();
        loop {
            let registration = self.registration();
            let status = match self.tell(&registration, lease, &report, next).await {
                Ok(attempts) => return attempts,
                Err(status) => status,
            };
            if is_lost(&status) || orders.current() == Order::Stop(Why::LeaseLost) {
                tracing::info!(task.id = %lease.task_id, "the lease was lost; its report changed nothing");
                return Vec::new();
            }
            if is_unknown_registration(&status) && self.register(&registration).await.is_ok() {
                continue;
            }
            match self.pause(&status, &mut patience) {
                Ok(pause) => {
                    let said = status.message();
                    tracing::warn!(task.id = %lease.task_id, said, ?pause, "the report was not heard yet");
                    tokio::time::sleep(pause).await;
                }
                Err(error) => match report.instead(&status) {
                    Some(other) => report = other,
                    None => {
                        tracing::error!(task.id = %lease.task_id, %error, "the report was refused");
                        return Vec::new();
                    }
                },
            }
        }
    }

    async fn tell(
        &self,
        registration: &str,
        lease: &Lease,
        report: &Report,
        next: u32,
    ) -> Result<Vec<Attempt>, Status> {
        let mut workers = self.connection.workers();
        let (registration_id, lease) = (registration.to_owned(), Some(lease.clone()));
        match report.clone() {
            Report::Complete { output, usage } => {
                let request = CompleteRequest {
                    registration_id,
                    lease,
                    output,
                    usage,
                    next,
                };
                return Ok(workers.complete(within(request)).await?.into_inner().next);
            }
            Report::Fail(failure) => {
                let request = FailRequest {
                    registration_id,
                    lease,
                    code: failure.code,
                    retryable: failure.retryable,
                    detail: tail(&failure.detail).to_owned(),
                    usage: failure.usage,
                };
                workers.fail(within(request)).await?;
            }
            Report::Park {
                signal,
                until,
                checkpoint,
            } => {
                let request = ParkRequest {
                    registration_id,
                    lease,
                    signal,
                    until,
                    checkpoint,
                };
                workers.park(within(request)).await?;
            }
            Report::Release => {
                let request = ReleaseRequest {
                    registration_id,
                    lease,
                };
                workers.release(within(request)).await?;
            }
        }
        Ok(Vec::new())
    }
}

fn within<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

fn is_lost(status: &Status) -> bool {
    refusal::is(status, "LEASE_LOST")
        || (status.code() == Code::NotFound && !is_unknown_registration(status))
}

/// The end of a text, where the cause mostly stands.
fn tail(text: &str) -> &str {
    let over = text.len().saturating_sub(LONGEST_DETAIL);
    let start = (over..).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(output: &'static [u8]) -> Outcome {
        Outcome::Completed {
            output: Bytes::from_static(output),
            usage: None,
        }
    }

    fn code(report: Option<Report>) -> Option<String> {
        match report {
            Some(Report::Fail(failure)) => Some(failure.code),
            _ => None,
        }
    }

    #[test]
    fn a_bad_output_fails_its_task_before_it_is_sent() {
        let report = Report::of(completed(b"\"a\\u0000b\""), Order::Go);

        assert_eq!(code(report).as_deref(), Some("INVALID_OUTPUT"));
    }

    #[test]
    fn nothing_is_said_of_a_lost_lease() {
        assert_eq!(
            Report::of(completed(b"1"), Order::Stop(Why::LeaseLost)),
            None
        );
    }

    #[test]
    fn work_that_stopped_for_a_cancel_failed_and_any_other_is_given_back() {
        let cancelled = Report::of(Outcome::Stopped, Order::Stop(Why::Cancelled));

        assert_eq!(code(cancelled).as_deref(), Some("CANCELLED"));
        assert_eq!(
            Report::of(Outcome::Stopped, Order::Go),
            Some(Report::Release)
        );
    }

    #[test]
    fn a_long_detail_keeps_its_end_and_whole_characters() {
        let text = format!("{}end", "é".repeat(4_000));

        let kept = tail(&text);

        assert!(kept.len() <= LONGEST_DETAIL && kept.ends_with("éend"));
    }
}
