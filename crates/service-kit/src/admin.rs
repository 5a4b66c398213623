//! The port for probes and Prometheus: whether the process lives, whether it is ready, and its numbers.
//! Shows nothing else, and nothing that names a caller, a run or a tenant.

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::telemetry::MetricsHandle;

/// Serves `/livez`, `/readyz` and `/metrics` until `shutdown` resolves.
///
/// `/livez` says that the process answers, whatever else is away; `/readyz` repeats what `readiness` holds.
pub async fn serve(
    listener: TcpListener,
    metrics: MetricsHandle,
    readiness: watch::Receiver<bool>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready).with_state(readiness))
        .route("/metrics", get(async move || metrics.render()));
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown)
        .await
        .context("the admin port stopped serving")
}

async fn ready(State(readiness): State<watch::Receiver<bool>>) -> (StatusCode, &'static str) {
    if *readiness.borrow() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::shutdown::Stop;
    use crate::telemetry;

    async fn get(address: std::net::SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }

    #[tokio::test]
    async fn probes_and_numbers_are_all_it_shows() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ready, readiness) = watch::channel(false);
        let stop = Stop::new();
        let metrics = telemetry::metrics();
        metrics::counter!("admin_test_total").increment(1);
        let server = tokio::spawn(serve(listener, metrics, readiness, stop.stopped()));

        assert!(get(address, "/livez").await.starts_with("HTTP/1.1 200"));
        assert!(get(address, "/readyz").await.starts_with("HTTP/1.1 503"));
        ready.send(true).unwrap();
        assert!(get(address, "/readyz").await.starts_with("HTTP/1.1 200"));
        assert!(
            get(address, "/metrics")
                .await
                .contains("admin_test_total 1")
        );
        assert!(get(address, "/").await.starts_with("HTTP/1.1 404"));

        stop.stop();
        server.await.unwrap().unwrap();
    }
}
