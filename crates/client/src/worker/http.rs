//! Work done by a service: the task POSTed to it as JSON, the output the body of its reply.
//!
//! Follows no redirect, and sets no limit of time: the lease has one, and whoever loses it hangs up. Nothing of the
//! worker's credentials is handed on; where it was asked for, a token of the attempt's own is.

mod answer;
mod post;

use cambium_proto::hypha::v1::{Attempt, Usage};
use http::Uri;

use super::{Failure, Outcome, Task, Work};
use crate::Error;
use answer::Broken;
use post::Post;

/// Posts each task to one address.
#[derive(Clone, Debug)]
pub struct Http {
    post: Post,
    with_token: bool,
    micro_usd_per_task: Option<i64>,
}

impl Http {
    /// Checks the address; nothing is sent yet.
    pub fn new(url: &str) -> Result<Self, Error> {
        Ok(Self {
            post: Post::to(address(url)?),
            with_token: false,
            micro_usd_per_task: None,
        })
    }

    /// Shows the service a token of the attempt's own, so that it can start runs.
    #[must_use]
    pub fn with_token(self, with_token: bool) -> Self {
        Self { with_token, ..self }
    }

    /// What each task costs, measured; else the cost is what the service declares.
    #[must_use]
    pub fn micro_usd_per_task(self, micro_usd_per_task: Option<i64>) -> Self {
        Self {
            micro_usd_per_task,
            ..self
        }
    }

    async fn ask(&self, task: &Task) -> Result<Outcome, Broken> {
        let request = task.to_json().map_err(|error| error.to_string());
        let request = request.and_then(|body| {
            let request = self.post.request(task, body);
            request.map_err(|error| error.to_string())
        });
        match request {
            Ok(request) => answer::judge(self.post.send(request).await?, self.measured()).await,
            Err(problem) => Ok(failed("INVALID_TASK", problem, None)),
        }
    }

    fn measured(&self) -> Option<Usage> {
        self.micro_usd_per_task.map(|micro_usd| Usage {
            micro_usd,
            measured: true,
        })
    }
}

impl Work for Http {
    fn wants_token(&self, _attempt: &Attempt) -> bool {
        self.with_token
    }

    async fn run(&self, mut task: Task) -> Outcome {
        if task.orders.clear().await.is_err() {
            return Outcome::Stopped;
        }
        let mut orders = task.orders.clone();
        tokio::select! {
            asked = self.ask(&task) => asked.unwrap_or_else(|broken| broken.outcome(self.measured())),
            // The unfinished request is dropped, and its connection with it: so the service hears of it.
            _ = orders.stopped() => Outcome::Stopped,
        }
    }
}

fn failed(code: &str, detail: String, usage: Option<Usage>) -> Outcome {
    Outcome::Failed(Failure {
        usage,
        ..Failure::lasting(code, detail)
    })
}

/// An absolute http or https address. Credentials in it would be dropped silently, so they are refused.
fn address(url: &str) -> Result<Uri, Error> {
    let wrong = |problem: String| Error::Address {
        url: url.to_owned(),
        problem,
    };
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    match uri.scheme_str() {
        Some("http" | "https") if authority.contains('@') => {
            Err(wrong("it holds credentials, which are not sent".to_owned()))
        }
        Some("http" | "https") => Ok(uri),
        _ => Err(wrong(
            "write it as http://HOST/PATH or https://HOST/PATH".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests;
