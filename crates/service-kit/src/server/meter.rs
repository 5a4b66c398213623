//! Counts and times the calls of one method, by the code they ended with.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use metrics::Histogram;
use tonic::Code;

use crate::auth::Method;

/// Seconds per call; its count per code is the number of calls.
const DURATION: &str = "rpc_server_call_duration_seconds";

/// One histogram for each code that the method has ever answered with.
#[derive(Debug)]
pub(crate) struct Meter {
    method: &'static str,
    histograms: [OnceLock<Histogram>; CODES.len()],
}

impl Meter {
    pub(crate) const fn of(path: &'static str) -> Self {
        Self {
            method: path,
            histograms: [const { OnceLock::new() }; CODES.len()],
        }
    }

    fn record(&self, code: Code, seconds: f64) {
        let index = code as usize;
        let histogram = self.histograms[index].get_or_init(|| {
            let method = self.method.trim_start_matches('/');
            let name = CODES[index];
            metrics::histogram!(DURATION, "rpc_method" => method, "rpc_response_status_code" => name)
        });
        histogram.record(seconds);
    }
}

/// The names of gRPC's codes, in the order of their numbers.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// One call under the clock. A call that its client gives up is dropped, and counts as cancelled.
#[derive(Debug)]
pub(super) struct Timing {
    method: Arc<Method>,
    started: Instant,
    code: Code,
}

impl Timing {
    pub(super) fn start(method: Arc<Method>) -> Self {
        Self {
            method,
            started: Instant::now(),
            code: Code::Cancelled,
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        self.method.pace.is_stream()
    }

    pub(super) fn ended_with(&mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.method
            .meter
            .record(self.code, self.started.elapsed().as_secs_f64());
    }
}
