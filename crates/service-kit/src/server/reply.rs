//! A call under way: watched by its time limit, holding its room, corrected and counted when it ends.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Response;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::Span;

use super::admission::Permit;
use super::meter::Timing;
use super::remap::corrected;
use super::request_id::{self, RequestId};
use super::stream::StreamBody;
use crate::status;

/// What is known of a call from its first moment to its last.
pub(super) struct Call {
    pub(super) span: Span,
    pub(super) id: RequestId,
    pub(super) timing: Timing,
}

pin_project! {
    /// The answer to one call.
    pub struct Reply<F> {
        #[pin]
        work: Work<F>,
        // Taken when the answer is ready.
        call: Option<Call>,
    }
}

pin_project! {
    #[project = WorkNow]
    enum Work<F> {
        Refused { status: Option<Status> },
        Running {
            #[pin]
            inner: F,
            #[pin]
            timer: Option<Sleep>,
            deadline: Option<Instant>,
            permit: Option<Permit>,
        },
    }
}

impl<F> Reply<F> {
    pub(super) fn refused(status: Status, call: Call) -> Self {
        Self {
            work: Work::Refused {
                status: Some(status),
            },
            call: Some(call),
        }
    }

    pub(super) fn running(inner: F, permit: Permit, limit: Option<Duration>, call: Call) -> Self {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let permit = Some(permit);
        Self {
            work: Work::Running {
                inner,
                timer: None,
                deadline,
                permit,
            },
            call: Some(call),
        }
    }
}

impl<F, E> Future for Reply<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let entered = this.call.as_ref().map(|call| call.span.enter());
        let (response, permit) = match this.work.project() {
            WorkNow::Refused { status } => {
                (status.take().unwrap_or_else(answered).into_http(), None)
            }
            WorkNow::Running {
                inner,
                timer,
                deadline,
                permit,
            } => {
                let response = match inner.poll(cx) {
                    Poll::Ready(response) => response?,
                    Poll::Pending => ready!(overdue(timer, *deadline, cx)).into_http(),
                };
                (response, permit.take())
            }
        };
        drop(entered);
        Poll::Ready(Ok(match this.call.take() {
            Some(call) => finished(response, call, permit),
            None => response,
        }))
    }
}

/// Resolves when the call's time is over. The timer is made only for calls that were not answered at once.
fn overdue(
    mut timer: Pin<&mut Option<Sleep>>,
    deadline: Option<Instant>,
    cx: &mut Context<'_>,
) -> Poll<Status> {
    let Some(deadline) = deadline else {
        return Poll::Pending;
    };
    if timer.is_none() {
        timer.set(Some(sleep_until(deadline)));
    }
    if let Some(timer) = timer.as_mut().as_pin_mut() {
        ready!(timer.poll(cx));
    }
    let message = "the call's time limit is over; whether it took effect is not known";
    Poll::Ready(status::refusal(
        Code::DeadlineExceeded,
        "DEADLINE_EXCEEDED",
        message,
    ))
}

/// Corrects the response, signs errors with the request's id, and ends the clock or hands it to the stream.
fn finished(response: Response<Body>, call: Call, permit: Option<Permit>) -> Response<Body> {
    let Call {
        span,
        id,
        mut timing,
    } = call;
    let (mut response, code) = span.in_scope(|| corrected(response));
    timing.ended_with(code);
    if code != Code::Ok {
        response
            .headers_mut()
            .insert(request_id::HEADER, id.to_header());
        return response;
    }
    match permit {
        Some(permit) if timing.is_stream() => {
            response.map(|inner| Body::new(StreamBody::new(inner, timing, span, permit)))
        }
        Some(_) | None => response,
    }
}

fn answered() -> Status {
    Status::internal("a call was polled after its answer")
}

impl<F> fmt::Debug for Reply<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
