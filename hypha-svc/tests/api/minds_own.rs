//! What minds start with the tokens of their turns: all of it is under the turn, also where the turn's body is not here.

use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::{RunState, StartRunRequest};
use cambium_service_kit::principal::{Fence, Organ};
use cambium_testkit::SignalSink;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, Wish, graph, id, refusal, start, start_with, turn};

fn within_turn(turn: &str) -> Fence {
    Fence {
        organ: Organ::Own,
        turn_id: Some(turn.to_owned()),
        session_id: None,
    }
}

/// Starts graph `g` as mind weksa, under a key of its own.
async fn start_in(fixture: &Fixture, fence: Fence, key: &str) -> Result<String, Status> {
    let token = fixture.keys.mind("weksa", fence);
    let request = StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: key.to_owned(),
        graph: "g".to_owned(),
        ..StartRunRequest::default()
    };
    let mut runs = RunServiceClient::new(fixture.as_token(&token));
    Ok(runs.start_run(request).await?.into_inner().run_id)
}

fn lost() -> (Code, String) {
    (Code::Aborted, "TURN_LOST".to_owned())
}

#[tokio::test]
async fn a_turn_whose_body_is_elsewhere_has_all_that_its_mind_starts() {
    let sink = SignalSink::start().await;
    let wish = Wish {
        swarm: Some(sink.url()),
        ..Wish::default()
    };
    let fixture = start_with(wish).await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());

    let first = start_in(&fixture, within_turn(&key), "first")
        .await
        .unwrap();
    let again = start_in(&fixture, within_turn(&key), "first")
        .await
        .unwrap();
    let attempt = worker.take_node("T").await;
    worker.complete_at(&attempt, 7, true).await;
    // Its first run has ended, and it goes on all the same.
    let second = start_in(&fixture, within_turn(&key), "second")
        .await
        .unwrap();
    let attempt = worker.take_node("T").await;
    worker.complete_at(&attempt, 5, true).await;
    let over = swarm.cancel(&key).await.unwrap();
    let late = start_in(&fixture, within_turn(&key), "late")
        .await
        .unwrap_err();

    assert_eq!(again, first);
    for run in [&first, &second] {
        let shown = fixture.run(run).await;
        assert_eq!(
            (
                shown.turn_id.as_str(),
                shown.instance.as_str(),
                shown.state()
            ),
            (key.as_str(), "weksa", RunState::Succeeded)
        );
    }
    assert_eq!(
        (over.ended, over.ran, over.cost_micro_usd),
        (true, true, Some(12))
    );
    assert_eq!(refusal(&late), lost());
    assert!(
        sink.received().is_empty(),
        "its meter tells when it is over"
    );
}

#[tokio::test]
async fn what_a_mind_started_is_stopped_with_its_turn() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let (swarm, key) = (fixture.swarm(), id());
    let run = start_in(&fixture, within_turn(&key), "k").await.unwrap();

    let stopped = swarm.cancel(&key).await.unwrap();

    assert!(stopped.ended && stopped.ran, "nobody had begun it");
    assert_eq!(fixture.state(&run).await, RunState::Cancelled);
    let never = swarm.cancel(&id()).await.unwrap();
    assert_eq!(
        (never.ended, never.ran, never.cost_micro_usd),
        (true, false, None)
    );
}

#[tokio::test]
async fn a_minds_own_runs_join_those_of_its_graph_and_end_with_it() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    swarm.start(turn(&key, "g")).await.unwrap();
    let own = worker.take_node("T").await;

    start_in(&fixture, within_turn(&key), "beside")
        .await
        .unwrap();
    worker.complete_at(&own, 1, true).await;
    let early = swarm.progress(&[&key]).await;
    let beside = worker.take_node("T").await;
    worker.complete_at(&beside, 2, true).await;
    let ended = swarm.progress(&[&key]).await;
    let late = start_in(&fixture, within_turn(&key), "late")
        .await
        .unwrap_err();

    assert!(!early[0].turn_ended, "what it started goes on");
    assert_eq!(
        (ended[0].turn_ended, ended[0].cost_micro_usd),
        (true, Some(3))
    );
    assert_eq!(refusal(&late), lost());
}

#[tokio::test]
async fn a_mind_starts_nothing_outside_its_turns() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let session = Fence {
        organ: Organ::Own,
        turn_id: None,
        session_id: Some(id()),
    };

    let denied = start_in(&fixture, session, "k").await.unwrap_err();

    assert_eq!(denied.code(), Code::PermissionDenied);
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 0);
}
