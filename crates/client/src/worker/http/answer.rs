//! What a reply means for its attempt. Only its status and its body count.

use std::error::Error as StdError;

use bytes::Bytes;
use cambium_proto::hypha::v1::Usage;
use http::{Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;

use super::failed;
use crate::worker::{Failure, Outcome, reply};

/// How much of a refusal's body is kept: its beginning, where services say what is wrong.
const REFUSAL_KEPT: usize = 4 << 10;

/// Why there is no whole reply. Another attempt may have more luck.
#[derive(Debug)]
pub(super) enum Broken {
    Unreachable(String),
    CutOff(String),
}

impl Broken {
    pub(super) fn call(error: &hyper_util::client::legacy::Error) -> Self {
        if error.is_connect() {
            Self::Unreachable(innermost(error))
        } else {
            Self::CutOff(innermost(error))
        }
    }

    pub(super) fn outcome(self, usage: Option<Usage>) -> Outcome {
        let (code, detail) = match self {
            Self::Unreachable(why) => {
                let detail = format!("the service cannot be reached: {why}");
                ("HTTP_UNREACHABLE", detail)
            }
            Self::CutOff(why) => ("HTTP_CUT_OFF", format!("the reply was cut off: {why}")),
        };
        Outcome::Failed(Failure {
            usage,
            ..Failure::retryable(code, detail)
        })
    }
}

/// Reads a reply: a body within the limit and a status of 2xx is an output.
pub(super) async fn judge<B>(
    response: Response<B>,
    measured: Option<Usage>,
) -> Result<Outcome, Broken>
where
    B: Body<Data = Bytes, Error: StdError + 'static> + Unpin,
{
    let (status, body) = (response.status(), response.into_body());
    if !status.is_success() {
        let said = head(body, REFUSAL_KEPT).await.unwrap_or_default();
        return Ok(refused(status, &said, measured));
    }
    let answer = head(body, reply::LARGEST + 1)
        .await
        .map_err(|error| Broken::CutOff(innermost(&error)))?;
    if answer.len() > reply::LARGEST {
        let detail = "the service answered with more than 1 MiB".to_owned();
        return Ok(failed("OUTPUT_TOO_LARGE", detail, measured));
    }
    let (output, declared) = reply::read(&answer);
    Ok(Outcome::Completed {
        output,
        usage: measured.or(declared),
    })
}

fn refused(status: StatusCode, said: &[u8], usage: Option<Usage>) -> Outcome {
    let said = String::from_utf8_lossy(said);
    let said = said.trim().replace('\0', "\u{fffd}");
    let detail = if said.is_empty() {
        status
            .canonical_reason()
            .unwrap_or("no reason given")
            .to_owned()
    } else {
        said
    };
    Outcome::Failed(Failure {
        code: format!("HTTP_{}", status.as_u16()),
        retryable: may_pass(status),
        detail,
        usage,
    })
}

/// Whether the same request may be answered otherwise later.
fn may_pass(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

/// Reads the body's beginning, at most so much, and leaves the rest.
async fn head<B>(mut body: B, most: usize) -> Result<Vec<u8>, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut kept = Vec::new();
    while kept.len() < most
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame?.into_data() {
            let room = most - kept.len();
            kept.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    Ok(kept)
}

/// The cause at the bottom, which says more than the layers around it.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    async fn judged(status: u16, body: &str) -> Outcome {
        let response = Response::builder().status(status);
        let response = response.body(Full::from(body.to_owned())).unwrap();
        judge(response, None).await.unwrap()
    }

    fn failure(outcome: Outcome) -> Failure {
        match outcome {
            Outcome::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn any_success_is_an_output_and_an_envelope_declares_its_cost() {
        let plain = judged(201, "[1]").await;
        let empty = judged(204, "").await;
        let envelope = judged(200, r#"{"output":7,"usage":{"micro_usd":5}}"#).await;

        let completed = |output: &'static str, usage| Outcome::Completed {
            output: Bytes::from_static(output.as_bytes()),
            usage,
        };
        let declared = Usage {
            micro_usd: 5,
            measured: false,
        };
        assert_eq!(plain, completed("[1]", None));
        assert_eq!(empty, completed("", None));
        assert_eq!(envelope, completed("7", Some(declared)));
    }

    #[tokio::test]
    async fn only_a_status_that_may_pass_is_tried_again() {
        let mut retried = Vec::new();

        for status in [301, 400, 404, 408, 409, 422, 429, 500, 502, 503, 504] {
            let failure = failure(judged(status, "").await);
            assert_eq!(failure.code, format!("HTTP_{status}"));
            if failure.retryable {
                retried.push(status);
            }
        }

        assert_eq!(retried, [408, 429, 500, 502, 503, 504]);
    }

    #[tokio::test]
    async fn a_refusal_says_what_the_service_said() {
        let said = failure(judged(422, "{\"error\":\"no topic\"}\n").await);
        let silent = failure(judged(404, "").await);
        let long = failure(judged(500, &"x".repeat(10_000)).await);

        assert_eq!(said.detail, "{\"error\":\"no topic\"}");
        assert_eq!(silent.detail, "Not Found");
        assert_eq!(long.detail.len(), REFUSAL_KEPT);
    }

    #[tokio::test]
    async fn a_reply_over_the_limit_fails_for_good() {
        let failure = failure(judged(200, &"x".repeat(reply::LARGEST + 1)).await);

        assert_eq!(
            (failure.code.as_str(), failure.retryable),
            ("OUTPUT_TOO_LARGE", false)
        );
    }
}
