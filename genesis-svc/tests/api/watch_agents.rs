use std::time::Duration;

use cambium_proto::genesis::v1::watch_agents_response::Event;
use cambium_proto::genesis::v1::{AgentState, WatchAgentsRequest, WatchAgentsResponse};
use tokio::time::timeout;
use tonic::{Code, Streaming};

use crate::fixture::{self, Fixture, put, reason, retirement, spec};

const BOUND: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_watcher_sees_who_there_is_and_then_each_change() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let gone = fixture.spawned().await;
    fixture.live(&gone, &[]).await;
    let first = fixture.spawned().await;

    let mut stream = watch(&fixture).await;
    let there = next(&mut stream).await;
    let caught_up = next(&mut stream).await;
    let second = fixture.spawned().await;
    let born = next(&mut stream).await;
    fixture.retire(retirement(&second)).await.unwrap();
    let draining = next(&mut stream).await;

    let seen = |id: &str, state| Seen::Agent(id.to_owned(), state);
    assert_eq!(there, seen(&first, AgentState::Active));
    assert_eq!(caught_up, Seen::CaughtUp);
    assert_eq!(born, seen(&second, AgentState::Active));
    assert_eq!(draining, seen(&second, AgentState::Draining));
}

#[tokio::test]
async fn changes_of_another_workspace_are_not_seen() {
    let mut fixture = fixture::start().await;
    let mut stream = watch(&fixture).await;
    assert_eq!(next(&mut stream).await, Seen::CaughtUp);
    let elsewhere = cambium_proto::genesis::v1::EnrollAgentRequest {
        workspace_id: "north".to_owned(),
        ..fixture::request("eve", &[])
    };

    fixture.send(elsewhere).await.unwrap();
    let enrolled = fixture.enroll("ada", &[]).await.unwrap();

    let ada = enrolled.agent.unwrap().agent_id;
    assert_eq!(
        next(&mut stream).await,
        Seen::Agent(ada, AgentState::Active)
    );
}

#[tokio::test]
async fn one_principal_holds_sixteen_watches() {
    let fixture = fixture::start().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(watch(&fixture).await);
    }

    let request = WatchAgentsRequest {
        workspace_id: "default".to_owned(),
    };
    let refused = fixture
        .client
        .clone()
        .watch_agents(request)
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "TOO_MANY_WATCHES");
}

#[derive(Debug, PartialEq)]
enum Seen {
    Agent(String, AgentState),
    CaughtUp,
}

async fn watch(fixture: &Fixture) -> Streaming<WatchAgentsResponse> {
    let request = WatchAgentsRequest {
        workspace_id: "default".to_owned(),
    };
    let stream = fixture.client.clone().watch_agents(request).await.unwrap();
    stream.into_inner()
}

async fn next(stream: &mut Streaming<WatchAgentsResponse>) -> Seen {
    loop {
        let message = timeout(BOUND, stream.message()).await.unwrap();
        match message.unwrap().unwrap().event.unwrap() {
            Event::Agent(agent) => return Seen::Agent(agent.agent_id.clone(), agent.state()),
            Event::CaughtUp(_) => return Seen::CaughtUp,
            Event::Heartbeat(_) => {}
        }
    }
}
