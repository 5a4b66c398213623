//! The token that comes with a task, for work that asks for one.

use bytes::Bytes;
use cambium_client::worker::{Outcome, Simulate, Task, Work};
use cambium_proto::hypha::v1::Attempt;
use tonic::{Code, Status};

use crate::fixture::{self, Service, refusal};

/// Answers with its token.
struct Telling;

impl Work for Telling {
    fn wants_token(&self, _attempt: &Attempt) -> bool {
        true
    }

    async fn run(&self, task: Task) -> Outcome {
        let token = task.token.unwrap();
        assert!(!format!("{token:?}").contains(token.as_str()));
        assert_eq!(token.as_str(), format!("token-of-{}", task.node));
        Outcome::Completed {
            output: Bytes::new(),
            usage: None,
        }
    }
}

#[tokio::test]
async fn work_that_asks_for_a_token_gets_one_with_each_task() {
    let service = Service::default();
    service.refuse("mint_agent_token", Status::unavailable("restarting"));
    service.add(&["a", "b"]);

    let worker = fixture::start(&service, 1, Telling).await;
    service.hears("complete", 2).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("mint_agent_token"), ["a", "a", "b"]);
    assert_eq!(service.heard("complete"), ["a", "b"]);
}

#[tokio::test]
async fn work_that_does_not_ask_gets_none() {
    let service = Service::default();
    service.add(&["a"]);

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("complete", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("mint_agent_token"), Vec::<String>::new());
}

#[tokio::test]
async fn a_task_whose_token_is_refused_fails_and_the_worker_lives_on() {
    let service = Service::default();
    let denied = refusal(Code::PermissionDenied, "NOT_PERMITTED", None);
    service.refuse("mint_agent_token", denied);
    service.add(&["a", "b"]);

    let worker = fixture::start(&service, 1, Telling).await;
    service.hears("complete", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("fail"), ["a TOKEN_UNAVAILABLE"]);
    assert_eq!(service.heard("complete"), ["b"]);
}
