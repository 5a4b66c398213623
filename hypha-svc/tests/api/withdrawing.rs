//! Withdrawing a turn: all that runs under it ends, and its key is spent for good.

use std::time::Duration;

use cambium_proto::hypha::v1::{CancelRunRequest, LeaseState, RunState, StartRunRequest};
use cambium_testkit::{SignalSink, wait_until};
use tonic::Code;

use crate::children::start_as;
use crate::fixture::{WORKSPACE, Wish, graph, id, refusal, start, start_with, turn};

const BOUND: Duration = Duration::from_secs(10);

fn lost() -> (Code, String) {
    (Code::Aborted, "TURN_LOST".to_owned())
}

#[tokio::test]
async fn a_turn_is_withdrawn_with_all_that_was_started_under_it() {
    let sink = SignalSink::start().await;
    let wish = Wish {
        swarm: Some(sink.url()),
        ..Wish::default()
    };
    let fixture = start_with(wish).await;
    fixture
        .put(graph("g", &["T", "U"], &["T->U"]))
        .await
        .unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    let run = swarm.start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();
    let child = start_as(&fixture, &token, "child", "g")
        .await
        .unwrap()
        .run_id;
    let task = worker.take_node("T").await;
    let waiting = start_as(&fixture, &token, "waiting", "g")
        .await
        .unwrap()
        .run_id;

    let first = swarm.cancel(&key).await.unwrap();
    let states = [fixture.state(&run).await, fixture.state(&child).await];
    let over = fixture.state(&waiting).await;
    let heard = [
        worker.heartbeat(&attempt).await,
        worker.heartbeat(&task).await,
    ];
    worker.complete_at(&task, 5, true).await;
    worker.complete_at(&attempt, 6, true).await;
    let last = swarm.cancel(&key).await.unwrap();

    assert_eq!((first.state(), first.ended), (RunState::Cancelling, false));
    assert_eq!(states, [RunState::Cancelling, RunState::Cancelling]);
    assert_eq!(over, RunState::Cancelled, "nobody had begun it");
    assert_eq!(heard, [LeaseState::Cancel, LeaseState::Cancel]);
    assert_eq!((last.state(), last.ended), (RunState::Cancelled, true));
    assert_eq!(last.cost_micro_usd, Some(11));
    let come = async || sink.received().len() == 1;
    wait_until(BOUND, "swarm has heard", come).await;
    assert_eq!(sink.received()[0].r#type, "coord.run_settled");
}

#[tokio::test]
async fn nothing_starts_under_a_turn_that_was_withdrawn() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    swarm.start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();
    swarm.cancel(&key).await.unwrap();

    let again = swarm.start(turn(&key, "g")).await.unwrap_err();
    let child = start_as(&fixture, &token, "child", "g").await.unwrap_err();

    assert_eq!(refusal(&again), lost());
    assert_eq!(refusal(&child), lost());
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 1);
}

#[tokio::test]
async fn a_key_that_no_run_came_under_is_spent_all_the_same() {
    let fixture = start().await;
    let version = fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let (swarm, key) = (fixture.swarm(), id());

    let first = swarm.cancel(&key).await.unwrap();
    let repeated = swarm.cancel(&key).await.unwrap();
    let late = swarm.start(turn(&key, "g")).await.unwrap_err();
    let plain = StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: key.clone(),
        graph: version.name,
        ..StartRunRequest::default()
    };
    let plain = fixture.runs.clone().start_run(plain).await.unwrap_err();

    assert_eq!((first.ended, first.cost_micro_usd), (true, None));
    assert_eq!(repeated, first);
    assert_eq!(refusal(&late), lost());
    assert_eq!(refusal(&plain), lost());
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 0);
    swarm.start(turn(&id(), "g")).await.unwrap();
}

#[tokio::test]
async fn a_turn_that_is_over_is_withdrawn_with_what_it_cost() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    swarm.start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take().await;
    worker.complete_at(&attempt, 9, true).await;

    let reply = swarm.cancel(&key).await.unwrap();
    let again = swarm.start(turn(&key, "g")).await.unwrap_err();

    assert_eq!((reply.state(), reply.ended), (RunState::Succeeded, true));
    assert_eq!(reply.cost_micro_usd, Some(9));
    assert_eq!(refusal(&again), lost());
}

#[tokio::test]
async fn swarm_withdraws_turns_only_and_workspaces_do_not_share_them() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let (swarm, key) = (fixture.swarm(), id());
    let elsewhere = CancelRunRequest {
        workspace_id: "north".to_owned(),
        request_id: id(),
        request_key: key.clone(),
        ..CancelRunRequest::default()
    };

    let no_turn = swarm.cancel("nightly").await.unwrap_err();
    swarm.runs.clone().cancel_run(elsewhere).await.unwrap();

    assert_eq!(no_turn.code(), Code::InvalidArgument);
    swarm.start(turn(&key, "g")).await.unwrap();
}

#[tokio::test]
async fn an_operator_cancels_a_run_by_its_key_and_the_key_is_not_spent() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let swarm = fixture.swarm();
    let key = id();
    let run = swarm.start(turn(&key, "g")).await.unwrap();
    let cancel = |key: &str| CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        request_key: key.to_owned(),
        ..CancelRunRequest::default()
    };

    let reply = fixture.runs.clone().cancel_run(cancel(&key)).await.unwrap();
    let unknown = fixture.runs.clone().cancel_run(cancel(&id())).await;

    let reply = reply.into_inner();
    assert_eq!((reply.state(), reply.ended), (RunState::Cancelled, true));
    assert_eq!(fixture.state(&run).await, RunState::Cancelled);
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
    assert_eq!(swarm.start(turn(&key, "g")).await.unwrap(), run);
}

#[tokio::test]
async fn whichever_of_a_start_and_a_withdrawal_comes_first_nothing_goes_on() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let swarm = fixture.swarm();
    let keys: Vec<String> = (0..20).map(|_| id()).collect();
    let races = keys.iter().map(|key| async {
        let started = swarm.start(turn(key, "g"));
        let (started, withdrawn) = tokio::join!(started, swarm.cancel(key));
        (started, withdrawn.unwrap())
    });

    let outcomes = futures::future::join_all(races).await;

    for (started, withdrawn) in outcomes {
        assert!(withdrawn.ended);
        match started {
            Ok(run) => assert_eq!(fixture.state(&run).await, RunState::Cancelled),
            Err(refused) => assert_eq!(refusal(&refused), lost()),
        }
    }
    let open = "SELECT count(*) FROM hypha.turn WHERE open_runs > 0";
    assert_eq!(fixture.count(open).await, 0);
}
