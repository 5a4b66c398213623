//! Sends one task. Knows connections and headers, and nothing of what comes back.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring::default_provider;

use super::answer::Broken;
use crate::worker::Task;

/// How long an idle connection is kept: shorter than services commonly do, so that no task is sent into one that is
/// just being closed.
const IDLE: Duration = Duration::from_secs(1);

const AGENT: &str = concat!("cambium-worker/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub(super) struct Post {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
}

impl Post {
    pub(super) fn to(uri: Uri) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector());
        Self { client, uri }
    }

    /// The task as a request; none if it holds what no header carries.
    pub(super) fn request(
        &self,
        task: &Task,
        body: String,
    ) -> Result<Request<Full<Bytes>>, http::Error> {
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, AGENT);
        if !task.traceparent.is_empty() {
            request = request.header("traceparent", &task.traceparent);
        }
        if let Some(token) = &task.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.as_str()));
        }
        request.body(Full::from(body))
    }

    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<impl Body<Data = Bytes, Error: Error> + Unpin + use<>>, Broken> {
        let response = self.client.request(request).await;
        response.map_err(|error| Broken::call(&error))
    }
}

/// Trusts whom this machine trusts; where it trusts nobody, as in a bare container, Mozilla's list.
fn connector() -> HttpsConnector<HttpConnector> {
    let trusting = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(default_provider())
        .or_else(|_| {
            HttpsConnectorBuilder::new().with_provider_and_webpki_roots(default_provider())
        })
        .expect("the provider knows every version of TLS that was asked for");
    trusting.https_or_http().enable_http1().build()
}
