//! Announcing workers, and what a token does not cover.

use cambium_proto::hypha::v1::worker_service_client::WorkerServiceClient;
use cambium_proto::hypha::v1::{PollRequest, RegisterRequest};
use tonic::Code;
use tonic_types::StatusExt;
use uuid::Uuid;

use crate::fixture::{graph, refusal, registration, start};

#[tokio::test]
async fn an_agent_not_heard_of_is_asked_to_wait_a_second() {
    let fixture = start().await;
    let agent = Uuid::now_v7().to_string();
    let mut client = fixture.workers(std::slice::from_ref(&agent));

    let status = client
        .register(registration("w", &[agent]))
        .await
        .unwrap_err();

    assert_eq!(
        refusal(&status),
        (Code::FailedPrecondition, "AGENT_UNKNOWN".to_owned())
    );
    let wait = status
        .get_details_retry_info()
        .unwrap()
        .retry_delay
        .unwrap();
    assert_eq!(wait.as_secs(), 1);
}

#[tokio::test]
async fn a_worker_registers_for_the_agents_of_its_token_alone() {
    let fixture = start().await;
    let mine = fixture.agent("mine", &[]).await;
    let theirs = fixture.agent("theirs", &[]).await;
    let foreign = fixture.agent_in("elsewhere", "foreign", &[]).await;
    let mut client = fixture.workers(&[mine.clone(), foreign.clone()]);

    let outside = client
        .register(registration("w", &[theirs]))
        .await
        .unwrap_err();
    let elsewhere = client
        .register(registration("w", &[foreign]))
        .await
        .unwrap_err();

    assert_eq!(
        refusal(&outside),
        (Code::PermissionDenied, "AGENT_NOT_COVERED".to_owned())
    );
    assert_eq!(
        refusal(&elsewhere),
        (Code::FailedPrecondition, "AGENT_UNKNOWN".to_owned())
    );
    client.register(registration("w", &[mine])).await.unwrap();
}

#[tokio::test]
async fn a_bad_announcement_names_its_field() {
    let fixture = start().await;
    let agent = fixture.agent("a", &[]).await;
    let mut client = fixture.workers(std::slice::from_ref(&agent));
    let good = registration("w", &[agent]);
    let cases: [(RegisterRequest, &str); 4] = [
        (
            RegisterRequest {
                slots: 0,
                ..good.clone()
            },
            "slots",
        ),
        (
            RegisterRequest {
                worker: String::new(),
                ..good.clone()
            },
            "worker",
        ),
        (
            RegisterRequest {
                incarnation: "x".to_owned(),
                ..good.clone()
            },
            "incarnation",
        ),
        (
            RegisterRequest {
                agent_ids: Vec::new(),
                ..good.clone()
            },
            "agent_ids",
        ),
    ];

    for (request, field) in cases {
        let status = client.register(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let violations = status.get_details_bad_request().unwrap().field_violations;
        assert_eq!(violations[0].field, field);
    }
}

#[tokio::test]
async fn a_poll_out_of_bounds_or_by_a_stranger_is_refused() {
    let fixture = start().await;
    let worker = fixture.worker("w", &[]).await;
    let poll = |max, wait_ms| PollRequest {
        registration_id: worker.registration.clone(),
        max,
        wait_ms,
    };
    let mut client = worker.client.clone();
    for (max, wait) in [(0, 10), (101, 10), (1, 25_001)] {
        let status = client.poll(poll(max, wait)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
    }
    let viewer = fixture.as_token(&fixture.keys.viewer());

    let stranger = WorkerServiceClient::new(viewer)
        .poll(poll(1, 10))
        .await
        .unwrap_err();
    let unknown = PollRequest {
        registration_id: Uuid::now_v7().to_string(),
        ..poll(1, 10)
    };
    let unknown = client.poll(unknown).await.unwrap_err();

    assert_eq!(stranger.code(), Code::PermissionDenied);
    assert_eq!(
        refusal(&unknown),
        (Code::NotFound, "REGISTRATION_UNKNOWN".to_owned())
    );
}

#[tokio::test]
async fn work_goes_to_those_who_can_do_it_alone() {
    let fixture = start().await;
    let mut cook = fixture.worker("cook", &["cook"]).await;
    let mut both = fixture.worker("both", &["cook", "bake"]).await;
    let mut graph = graph("g", &["cake"], &[]);
    graph.nodes[0].requires = vec!["bake".to_owned(), "cook".to_owned()];
    fixture.start(graph).await;

    let missed = cook.finds_nothing().await;
    let taken = both.take_node("cake").await;

    assert!(missed);
    assert_eq!(taken.agent_id, both.agent);
}

#[tokio::test]
async fn what_waits_longest_is_served_first_within_its_priority() {
    let fixture = start().await;
    let mut first = graph("g", &["a", "b"], &[]);
    first.nodes[1].priority = Some(0);
    fixture.start(first).await;
    fixture.start(graph("h", &["c"], &[])).await;
    let mut worker = fixture.worker("w", &[]).await;

    let mut served = Vec::new();
    for _ in 0..3 {
        served.push(worker.take().await.node);
    }

    assert_eq!(served, ["b", "a", "c"]);
}

#[tokio::test]
async fn a_new_incarnation_drains_the_old_one() {
    let fixture = start().await;
    let mut old = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let held = old.take_node("a").await;
    let mut new = old.clone();
    let request = registration("w", std::slice::from_ref(&old.agent));
    new.registration = new
        .client
        .register(request)
        .await
        .unwrap()
        .into_inner()
        .registration_id;

    let status = old.poll(1, 100).await.unwrap_err();
    old.complete(&held).await.unwrap();

    assert_eq!(
        refusal(&status),
        (Code::FailedPrecondition, "DRAINING".to_owned())
    );
    let next = new.take_node("b").await;
    new.complete(&next).await.unwrap();
    assert_eq!(
        fixture.tasks(&run).await["a"].epoch,
        1,
        "it finished under its own token"
    );
}
