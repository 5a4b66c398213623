//! The layer itself: decides on every call before the service behind it sees it.
//! Decides on the spot and without spawning: all it asks is in memory.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::AUTHORIZATION;
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::admission::{Limits, Permit};
use super::deadline::time_limit;
use super::meter::Timing;
use super::reply::{Call, Reply};
use super::request_id::RequestId;
use crate::auth::{Auth, Method};
use crate::call::Caller;
use crate::status;

/// Wraps a port's services in a [`Gate`].
#[derive(Clone, Debug)]
pub struct Layers {
    auth: Auth,
    limits: Limits,
}

impl Layers {
    pub(super) const fn new(auth: Auth, limits: Limits) -> Self {
        Self { auth, limits }
    }
}

impl<S> Layer<S> for Layers {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Gate {
            inner,
            auth: self.auth.clone(),
            limits: self.limits,
        }
    }
}

/// A service that only admitted calls reach.
#[derive(Clone, Debug)]
pub struct Gate<S> {
    inner: S,
    auth: Auth,
    limits: Limits,
}

impl<S> Service<Request<Body>> for Gate<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Reply<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let method = Arc::clone(self.auth.method(request.uri().path()));
        let id = RequestId::of(request.headers());
        let span = tracing::info_span!("call", rpc.method = method.path, request.id = %id);
        let timing = Timing::start(Arc::clone(&method));
        let admitted = span.in_scope(|| {
            let permit = self.admit(&method, &mut request)?;
            let limit = time_limit(method.pace, request.headers());
            Ok((self.inner.call(request), permit, limit))
        });
        match admitted {
            Ok((inner, permit, limit)) => {
                Reply::running(inner, permit, limit, Call { span, id, timing })
            }
            Err(status) => Reply::refused(status, Call { span, id, timing }),
        }
    }
}

impl<S> Gate<S> {
    /// Finds room, asks for the token, and tells the service who calls.
    fn admit(&self, method: &Method, request: &mut Request<Body>) -> Result<Permit, Status> {
        let permit = self.limits.admit(method.pace).map_err(status::of)?;
        let caller = method.admit(request.headers()).map_err(Status::from)?;
        // Whoever comes after has no use for the token, and so cannot leak it.
        request.headers_mut().remove(AUTHORIZATION);
        if let Some(principal) = caller {
            request.extensions_mut().insert(Caller {
                principal,
                method: method.path,
            });
        }
        Ok(permit)
    }
}
