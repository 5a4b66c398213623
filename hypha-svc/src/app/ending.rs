//! Ends of attempts: one at a time or many together, each effectively once.
//!
//! An ended attempt is its own receipt: the same body again is answered with what came of it the first time. Decides
//! nothing about what follows; that is the engine's.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use cambium_hypha::EndState;
use cambium_kernel::LeaseId;
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::outbox;
use chrono::{DateTime, Utc};

use super::{App, attempt, graph};
use crate::convert::id::Presented;
use crate::convert::payload::fingerprint;
use crate::engine::edges::edge_outcomes;
use crate::engine::evidence;
use crate::engine::grant::Grants;
use crate::engine::op::{Change, Settle, Settled, Settles, Usage};
use crate::engine::registration::Registration;
use crate::error::Error;
use crate::store;
use crate::store::engine::{Fence, TaskKey};

/// How an attempt ends, as its worker says.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Complete {
        output: Bytes,
    },
    Fail {
        code: String,
        detail: String,
        retryable: bool,
    },
    Park {
        signal: String,
        until: Option<DateTime<Utc>>,
        checkpoint: Bytes,
    },
    Release,
}

/// An attempt and its end, as a worker presents them.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) presented: Presented<'a>,
    /// The task's id as it was written.
    pub(crate) text: &'a str,
    pub(crate) end: End,
    pub(crate) usage: Option<Usage>,
    /// What the worker is told although its attempt was ended: that its output was refused.
    pub(crate) told: Option<Error>,
}

impl App {
    /// Ends one attempt. Answers where its task went, and what the reply may bring.
    pub(crate) async fn end_one(
        &self,
        registration: &Arc<Registration>,
        ending: Ending<'_>,
        next: u32,
    ) -> Result<(wire::TaskState, Vec<wire::Attempt>), Error> {
        let (mut ends, next) = self.end_all(registration, vec![Ok(ending)], next).await?;
        let went = ends.pop().unwrap_or(Err(Error::Stopping))?;
        Ok((went, next))
    }

    /// Ends attempts in one transaction. Answers for each where its task went, in their order; what could not be read is
    /// answered with its fault. A lease of another worker among them stops them all.
    pub(crate) async fn end_all(
        &self,
        registration: &Arc<Registration>,
        endings: Vec<Result<Ending<'_>, Error>>,
        next: u32,
    ) -> Result<(Vec<Result<wire::TaskState, Error>>, Vec<wire::Attempt>), Error> {
        let (ends, next) = self.settle(registration, endings, next).await?;
        // The ends stand whatever becomes of the next attempts: those went back to the queue.
        let next = attempt::build(&self.pool, &self.engine, next).await;
        Ok((ends, next.unwrap_or_default()))
    }

    async fn settle(
        &self,
        registration: &Arc<Registration>,
        endings: Vec<Result<Ending<'_>, Error>>,
        next: u32,
    ) -> Result<(Vec<Result<wire::TaskState, Error>>, Grants), Error> {
        let mut list = Vec::with_capacity(endings.len());
        let mut sorted = Vec::with_capacity(endings.len());
        for ending in endings {
            let sent = match ending {
                Ok(ending) => self.change(registration, &ending).await.map(|settle| {
                    list.push(settle);
                    ending
                }),
                Err(error) => Err(error),
            };
            sorted.push(sent);
        }
        if list.is_empty() {
            let ends = sorted
                .into_iter()
                .map(|sent| Err(sent.err().unwrap_or(Error::Stopping)));
            return Ok((ends.collect(), Grants::none()));
        }
        let fences: Vec<_> = list
            .iter()
            .map(|settle| (settle.task, settle.body_hash))
            .collect();
        let draining = registration.draining.load(Ordering::Relaxed);
        let settles = Settles {
            list,
            next: (next > 0 && !draining).then(|| (registration.clone(), next)),
        };
        let settled = self.engine.settle_all(settles).await?;
        let mut outcomes = settled.list.into_iter().zip(fences);
        let mut ends = Vec::with_capacity(sorted.len());
        for sent in sorted {
            let end = match (sent, &mut outcomes) {
                (Err(error), _) => Err(error),
                (Ok(ending), outcomes) => {
                    let Some((settled, (task, body_hash))) = outcomes.next() else {
                        return Err(Error::Stopping);
                    };
                    let went = match settled {
                        Settled::Done { went } => Ok(state(went)),
                        Settled::Fenced => {
                            self.why_fenced(registration, &ending, task, body_hash)
                                .await
                        }
                    };
                    went.and_then(|went| ending.told.map_or(Ok(went), Err))
                }
            };
            ends.push(end);
        }
        Ok((ends, settled.next))
    }

    /// The fenced change that an end asks for.
    async fn change(
        &self,
        registration: &Registration,
        ending: &Ending<'_>,
    ) -> Result<Settle, Error> {
        let presented = &ending.presented;
        let workspace = &registration.workspace;
        let (info, task) = self.task(workspace, presented.task, ending.text).await?;
        let usage = ending.usage;
        let change = match ending.end.clone() {
            End::Complete { output } => Change::Complete {
                edges: if task.i == 0 {
                    edge_outcomes(&info, task.n, EndState::Succeeded, Some(&output))
                } else {
                    Vec::new()
                },
                output,
                usage,
            },
            End::Fail {
                code,
                detail,
                retryable,
            } => Change::Fail {
                code,
                detail,
                retryable,
                usage,
            },
            End::Park {
                signal,
                until,
                checkpoint,
            } => Change::Park {
                signal,
                until,
                checkpoint,
            },
            End::Release => Change::Release,
        };
        Ok(Settle {
            info,
            task,
            epoch: presented.epoch,
            fence: Fence::Live {
                lease: presented.lease,
                reg: Some(registration.reg),
            },
            change,
            body_hash: Some(receipt(&ending.end)),
        })
    }

    /// A repeat of what ended the attempt is answered as the first; anything else has lost its lease, or never had it.
    async fn why_fenced(
        &self,
        registration: &Registration,
        ending: &Ending<'_>,
        task: TaskKey,
        body_hash: Option<i64>,
    ) -> Result<wire::TaskState, Error> {
        let mut conn = self.pool.acquire().await?;
        let Presented { lease, epoch, .. } = ending.presented;
        let known = store::task::receipt(&mut conn, task, epoch, lease).await?;
        if let Some((went, hash)) = known
            && hash == body_hash
        {
            return Ok(state(went));
        }
        match store::hot::holder(&mut conn, task, lease).await? {
            Some(reg) if reg != registration.reg => {
                Err(Error::NotYourLease(ending.text.to_owned()))
            }
            _ => {
                if matches!(ending.end, End::Complete { .. }) {
                    self.tell_stale(task, epoch, lease).await?;
                }
                Err(Error::LeaseLost(ending.text.to_owned()))
            }
        }
    }

    /// A completion that comes too late is evidence on whoever held the lease. One that nobody ever held is none.
    async fn tell_stale(&self, task: TaskKey, epoch: i32, lease: LeaseId) -> Result<(), Error> {
        let routes = &self.engine.routes;
        if routes.receivers(evidence::TASK_SETTLED).is_empty() {
            return Ok(());
        }
        let mut tx = self.pool.begin().await?;
        let Some(agent) = store::task::lost_by(&mut tx, task, epoch, lease).await? else {
            return Ok(());
        };
        let info = graph::run_info(&mut tx, &self.engine, task.run).await?;
        let at = store::now(&mut tx).await?;
        let told = evidence::stale(&info, task, epoch, agent, at);
        let rows = outbox::rows(routes, vec![told]);
        outbox::insert(&mut tx, store::SCHEMA, &rows).await?;
        tx.commit().await?;
        self.engine.relay.notify();
        Ok(())
    }
}

/// Eight bytes that tell one body from another.
fn receipt(end: &End) -> i64 {
    match end {
        End::Complete { output } => fingerprint("complete", &[output]),
        End::Fail {
            code,
            detail,
            retryable,
        } => fingerprint(
            "fail",
            &[code.as_bytes(), detail.as_bytes(), &[u8::from(*retryable)]],
        ),
        End::Park {
            signal,
            until,
            checkpoint,
        } => {
            let until = until.map_or(0, |until| until.timestamp_micros());
            fingerprint(
                "park",
                &[signal.as_bytes(), &until.to_le_bytes(), checkpoint],
            )
        }
        End::Release => fingerprint("release", &[]),
    }
}

fn state(went: i16) -> wire::TaskState {
    wire::TaskState::try_from(i32::from(went)).unwrap_or(wire::TaskState::Unspecified)
}
