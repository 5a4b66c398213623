//! Runs under minds' turns: who starts them, whose they are, and who is given their work.

use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::{
    CancelRunRequest, ExplainTaskRequest, GetRunRequest, HoldsLeaseResponse, RerunFromRequest,
    RunState, StartRunRequest,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::children::start_as;
use crate::fixture::{Fixture, WORKSPACE, change, graph, id, refusal, start, turn};

/// A house that knows a graph of one node, T.
async fn house() -> Fixture {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    fixture
}

async fn start_with_token(
    fixture: &Fixture,
    token: &str,
    request: StartRunRequest,
) -> Result<(), Status> {
    let mut runs = RunServiceClient::new(fixture.as_token(token));
    runs.start_run(request).await?;
    Ok(())
}

#[tokio::test]
async fn a_turns_run_says_whose_it_is_and_is_one_however_often_it_is_asked_for() {
    let fixture = house().await;
    let (swarm, key) = (fixture.swarm(), id());

    let run = swarm.start(turn(&key, "g")).await.unwrap();
    let again = swarm.start(turn(&key, "g")).await.unwrap();
    let dearer = StartRunRequest {
        cap_micro_usd: 2_000_000,
        ..turn(&key, "g")
    };
    let dearer = swarm.start(dearer).await.unwrap_err();

    assert_eq!(again, run);
    assert_eq!(
        refusal(&dearer),
        (Code::AlreadyExists, "KEY_TAKEN".to_owned())
    );
    let shown = fixture.run(&run).await;
    assert_eq!(
        (shown.turn_id.as_str(), shown.instance.as_str()),
        (key.as_str(), "weksa")
    );
    let plain = fixture.start(graph("plain", &["a"], &[])).await;
    let plain = fixture.run(&plain).await;
    assert_eq!((plain.turn_id, plain.instance), Default::default());
}

#[tokio::test]
async fn ten_starts_for_one_turn_are_one_run() {
    let fixture = house().await;
    let (swarm, key) = (fixture.swarm(), id());
    let starts = (0..10).map(|_| swarm.start(turn(&key, "g")));

    let mut ids: Vec<String> = futures::future::try_join_all(starts).await.unwrap();

    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        fixture
            .count("SELECT open_runs::bigint FROM hypha.turn")
            .await,
        1
    );
}

#[tokio::test]
async fn swarm_alone_starts_runs_for_turns_and_no_others() {
    let fixture = house().await;
    let no_turn = StartRunRequest {
        turn_id: String::new(),
        ..turn(&id(), "g")
    };
    let tokens = [
        fixture.keys.operator(),
        fixture.keys.agent(id()),
        fixture.keys.service("genesis"),
    ];

    for token in &tokens {
        let refused = start_with_token(&fixture, token, turn(&id(), "g")).await;
        let expected = (Code::PermissionDenied, "NOT_PERMITTED".to_owned());
        assert_eq!(refusal(&refused.unwrap_err()), expected);
    }
    let refused = fixture.swarm().start(no_turn).await.unwrap_err();

    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 0);
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.turn").await, 0);
}

#[tokio::test]
async fn other_services_neither_cancel_nor_read_runs() {
    let fixture = house().await;
    let run = fixture.start(graph("h", &["a"], &[])).await;
    let mut other = RunServiceClient::new(fixture.as_token(&fixture.keys.service("genesis")));
    let cancel = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
        ..CancelRunRequest::default()
    };
    let get = GetRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.clone(),
        ..GetRunRequest::default()
    };

    let cancelled = other.cancel_run(cancel.clone()).await.unwrap_err();
    let read = other.get_run(get.clone()).await.unwrap_err();
    let by_id = fixture.swarm().runs.cancel_run(cancel).await.unwrap_err();
    let read_by_swarm = fixture.swarm().runs.get_run(get).await;

    for refused in [cancelled, read, by_id] {
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    assert!(read_by_swarm.is_ok());
    assert_eq!(fixture.state(&run).await, RunState::Running);
}

#[tokio::test]
async fn what_of_a_turn_has_no_form_is_refused_by_the_name_of_its_field() {
    let fixture = house().await;
    let key = id();
    let wrong = [
        (
            "request_key",
            StartRunRequest {
                request_key: id(),
                ..turn(&key, "g")
            },
        ),
        ("turn_id", turn("weksas", "g")),
        (
            "instance",
            StartRunRequest {
                instance: "*".to_owned(),
                ..turn(&key, "g")
            },
        ),
        (
            "cap_micro_usd",
            StartRunRequest {
                cap_micro_usd: 0,
                ..turn(&key, "g")
            },
        ),
    ];

    for (field, request) in wrong {
        let refused = fixture.swarm().start(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}");
        assert!(refused.message().contains(field), "{}", refused.message());
    }
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 0);
}

#[tokio::test]
async fn a_turns_work_is_given_only_to_agents_that_serve_its_mind() {
    let fixture = house().await;
    let mut nobodys = fixture.worker("nobodys", &[]).await;
    let mut others = fixture.serving("others", &[], &["hare"]).await;
    let mut everybodys = fixture.serving("everybodys", &[], &["*"]).await;
    let swarm = fixture.swarm();
    swarm.start(turn(&id(), "g")).await.unwrap();
    swarm.start(turn(&id(), "g")).await.unwrap();

    assert!(nobodys.finds_nothing().await);
    assert!(others.finds_nothing().await);
    everybodys.take_node("T").await;
    let mut weksas = fixture.serving("weksas", &[], &["weksa"]).await;
    weksas.take_node("T").await;

    let plain = fixture.start(graph("plain", &["a"], &[])).await;
    others.take_node("a").await;
    assert_eq!(fixture.state(&plain).await, RunState::Running);
}

#[tokio::test]
async fn work_that_nobody_serves_says_so() {
    let fixture = house().await;
    fixture.worker("able", &[]).await;
    let run = fixture.swarm().start(turn(&id(), "g")).await.unwrap();
    let request = ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{run}/T"),
    };

    let told = fixture.tasks.clone().explain_task(request).await.unwrap();

    let why = told.into_inner().reasons.remove(0);
    assert_eq!(why.subjects, ["mind weksa"], "{}", why.text);
}

#[tokio::test]
async fn what_a_turns_task_starts_is_the_turns() {
    let fixture = house().await;
    let mut nobodys = fixture.worker("nobodys", &[]).await;
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let key = id();
    let run = fixture.swarm().start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();

    let child = start_as(&fixture, &token, "child", "g").await.unwrap();

    let child = fixture.run(&child.run_id).await;
    assert_eq!(child.parent_run_id, run);
    assert_eq!(
        (child.turn_id.as_str(), child.instance.as_str()),
        (key.as_str(), "weksa")
    );
    assert!(nobodys.finds_nothing().await);
    let task = worker.take_node("T").await;
    assert!(task.lease.unwrap().task_id.starts_with(&child.run_id));
}

#[tokio::test]
async fn a_rerun_within_a_turn_is_the_turns_and_one_outside_is_nobodys() {
    let fixture = house().await;
    let mut nobodys = fixture.worker("nobodys", &[]).await;
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let old = fixture.start(graph("h", &["a"], &[])).await;
    nobodys.work(&[]).await;
    let key = id();
    let run = fixture.swarm().start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();
    let again = |run: &str, nodes: &str| RerunFromRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: id(),
        run_id: run.to_owned(),
        nodes: vec![nodes.to_owned()],
        dry_run: false,
    };

    let mut agent = RunServiceClient::new(fixture.as_token(&token));
    let inside = agent.rerun_from(again(&old, "a")).await.unwrap();
    let inside = inside.into_inner().run_id;

    assert_eq!(fixture.run(&inside).await.turn_id, key);
    assert!(nobodys.finds_nothing().await);
    let task = worker.take_node("a").await;
    worker.complete(&task).await.unwrap();
    worker.complete(&attempt).await.unwrap();
    let outside = fixture.runs.clone().rerun_from(again(&run, "T")).await;
    let outside = outside.unwrap().into_inner().run_id;
    assert_eq!(fixture.run(&outside).await.turn_id, "");
    nobodys.take_node("T").await;
    let late = agent.rerun_from(again(&old, "a")).await.unwrap_err();
    assert_eq!(refusal(&late), (Code::Aborted, "TURN_LOST".to_owned()));
}

#[tokio::test]
async fn nothing_starts_under_a_turn_that_is_over() {
    let fixture = house().await;
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    let run = swarm.start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();
    worker.complete(&attempt).await.unwrap();

    let late = start_as(&fixture, &token, "late", "g").await.unwrap_err();
    let repeated = swarm.start(turn(&key, "g")).await.unwrap();

    assert_eq!(refusal(&late), (Code::Aborted, "TURN_LOST".to_owned()));
    assert_eq!(
        repeated, run,
        "what was started before is answered as it was"
    );
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 1);
}

#[tokio::test]
async fn an_agent_that_holds_a_lease_under_a_turn_starts_runs_with_its_token_only() {
    let fixture = house().await;
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    fixture.start(graph("h", &["a"], &[])).await;
    let outside = worker.take_node("a").await;
    let of_outside = worker.token(&outside).await.unwrap();
    let own = fixture.keys.agent(&worker.agent);
    start_as(&fixture, &own, "before", "g").await.unwrap();
    let before = worker.take_node("T").await;
    worker.complete(&before).await.unwrap();
    fixture.swarm().start(turn(&id(), "g")).await.unwrap();
    let attempt = worker.take_node("T").await;
    let of_lease = worker.token(&attempt).await.unwrap();

    for token in [&own, &of_outside] {
        let refused = start_as(&fixture, token, "now", "g").await.unwrap_err();
        let expected = (Code::FailedPrecondition, "LEASE_TOKEN".to_owned());
        assert_eq!(refusal(&refused), expected);
    }
    start_as(&fixture, &of_lease, "now", "g").await.unwrap();
    let child = worker.take_node("T").await;
    worker.complete(&child).await.unwrap();
    worker.complete(&attempt).await.unwrap();
    start_as(&fixture, &own, "after", "g").await.unwrap();
}

#[tokio::test]
async fn swarm_asks_what_a_worker_holds_under_a_turn() {
    let fixture = start().await;
    let mut plain = graph("plain", &["T"], &[]);
    change(&mut plain, "T").requires = vec!["write".to_owned()];
    let mut persona = graph("persona", &["P"], &[]);
    change(&mut persona, "P").requires = vec!["organ:persona".to_owned()];
    fixture.put(plain).await.unwrap();
    fixture.put(persona).await.unwrap();
    let can = ["write", "organ:persona"];
    let mut worker = fixture.serving("w", &can, &["weksa"]).await;
    let swarm = fixture.swarm();
    let (first, second) = (id(), id());
    let reply = |holds, persona_organ, serves_mind| HoldsLeaseResponse {
        holds,
        persona_organ,
        serves_mind,
    };
    swarm.start(turn(&first, "plain")).await.unwrap();
    assert_eq!(
        swarm.holds(&first, "worker-1").await,
        reply(false, false, false)
    );
    worker.take_node("T").await;
    swarm.start(turn(&second, "persona")).await.unwrap();

    let of_plain = swarm.holds(&first, "worker-1").await;
    let not_yet = swarm.holds(&second, "worker-1").await;
    worker.take_node("P").await;
    let of_persona = swarm.holds(&second, "worker-1").await;
    let others = swarm.holds(&second, "worker-2").await;
    fixture.advance(TimeDelta::seconds(11)).await;
    let ran_out = swarm.holds(&second, "worker-1").await;

    assert_eq!(of_plain, reply(true, false, true));
    assert_eq!(of_persona, reply(true, true, true));
    for nothing in [not_yet, others, ran_out] {
        assert_eq!(nothing, reply(false, false, false));
    }
}
