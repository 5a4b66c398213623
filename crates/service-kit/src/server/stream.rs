//! Keeps a stream's room, and its clock running, until its last message has left.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::Span;

use super::admission::Permit;
use super::meter::Timing;

pub(super) struct StreamBody {
    inner: Body,
    timing: Timing,
    span: Span,
    _permit: Permit,
}

impl StreamBody {
    pub(super) const fn new(inner: Body, timing: Timing, span: Span, permit: Permit) -> Self {
        Self {
            inner,
            timing,
            span,
            _permit: permit,
        }
    }
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let _entered = this.span.enter();
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(trailers) = frame.trailers_ref()
        {
            let status = trailers.get(Status::GRPC_STATUS);
            let code = status.map_or(Code::Unknown, |code| Code::from_bytes(code.as_bytes()));
            this.timing.ended_with(code);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
