use std::time::Duration;

use cambium_proto::genesis::v1::{
    AgentState, CandidateState, ListCompostsRequest, RetireAgentRequest,
};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentRetired, TaskOutcome};
use cambium_testkit::{SignalSink, wait_until};
use chrono::TimeDelta;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, Tasks, failing, field, put, reason, retirement, spec, well};

const BOUND: Duration = Duration::from_secs(20);

async fn started() -> Fixture {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    fixture
}

#[tokio::test]
async fn an_agent_drains_until_its_last_task_is_known() {
    let fixture = started().await;
    let agent = fixture.spawned().await;
    fixture.settle(&agent, &[well(2)]).await;

    let draining = fixture.retire(retirement(&agent)).await.unwrap();
    fixture.drain(&agent, 3).await;
    let early = fixture.compost(&agent).await.unwrap_err();
    fixture.settle(&agent, &[failing("late")]).await;
    fixture.until_retired(&agent).await;

    assert_eq!(draining.state(), AgentState::Draining);
    assert_eq!(early.code(), Code::NotFound);
    let compost = fixture.compost(&agent).await.unwrap();
    assert_eq!((compost.tasks_succeeded, compost.tasks_ended), (2, 3));
    assert!((compost.success_rate - 0.666_667).abs() < 1e-9);
    assert!(!compost.incomplete);
    assert_eq!(compost.number, 1);
    assert_eq!(fixture.count("compost").await, 1);
}

#[tokio::test]
async fn an_agent_of_which_nobody_says_that_it_is_drained_is_composted_after_a_day() {
    let fixture = started().await;
    let agent = fixture.spawned().await;
    fixture.settle(&agent, &[well(4)]).await;
    fixture.retire(retirement(&agent)).await.unwrap();

    fixture.database.advance(TimeDelta::hours(24)).await;
    fixture.until_retired(&agent).await;

    let compost = fixture.compost(&agent).await.unwrap();
    assert!(compost.incomplete);
    assert_eq!(compost.tasks_succeeded, 4);
}

#[tokio::test]
async fn retiring_twice_has_no_further_effect() {
    let fixture = started().await;
    let agent = fixture.spawned().await;
    let said = RetireAgentRequest {
        failure_patterns: vec!["timeout in search".to_owned()],
        ..retirement(&agent)
    };
    fixture.retire(said.clone()).await.unwrap();
    fixture.retire(said).await.unwrap();
    let draining = fixture.retire(retirement(&agent)).await.unwrap();
    fixture.drain(&agent, 0).await;
    fixture.until_retired(&agent).await;

    let retired = fixture.retire(retirement(&agent)).await.unwrap();

    assert_eq!(draining.state(), AgentState::Draining);
    assert_eq!(retired.state(), AgentState::Retired);
    assert_eq!(fixture.count("compost").await, 1);
    let patterns = fixture.compost(&agent).await.unwrap().patterns;
    assert_eq!(patterns.len(), 1);
    assert!(!patterns[0].evidence);
}

#[tokio::test]
async fn a_record_holds_what_happened_most() {
    let fixture = started().await;
    let agent = fixture.spawned().await;
    let writes = Tasks {
        requires: &["role:writer"],
        ..well(9)
    };
    let lost = Tasks {
        outcome: TaskOutcome::LeaseLost,
        code: "",
        ..failing("")
    };
    let stale = Tasks {
        outcome: TaskOutcome::Stale,
        ..failing("too late")
    };

    let compost = fixture
        .live(
            &agent,
            &[
                writes,
                failing("no answer in 30 s"),
                failing("No answer in 7 s!"),
                lost,
                stale,
            ],
        )
        .await;

    let patterns: Vec<(&str, i64)> = compost
        .patterns
        .iter()
        .map(|one| (one.pattern.as_str(), one.times))
        .collect();
    assert_eq!(
        patterns,
        [
            ("can role:writer", 9),
            ("AGENT_ERROR no answer in # s", 2),
            ("LEASE_LOST", 1)
        ]
    );
    assert_eq!((compost.tasks_succeeded, compost.tasks_ended), (9, 12));
    assert!(compost.patterns.iter().all(|one| one.evidence));
    // Three quarters is not over 0.8.
    assert!(
        compost
            .patterns
            .iter()
            .all(|one| one.candidate() == CandidateState::None)
    );
}

#[tokio::test]
async fn others_hear_when_it_drains_and_when_its_life_is_over() {
    let sinks = [
        SignalSink::start().await,
        SignalSink::start().await,
        SignalSink::start().await,
    ];
    let receivers = [
        ("hypha", sinks[0].url()),
        ("immune", sinks[1].url()),
        ("stigmergy", sinks[2].url()),
    ];
    let fixture = fixture::start_telling_all(&receivers).await;
    fixture.put(put(spec())).await.unwrap();
    let agent = fixture.spawned().await;

    fixture.live(&agent, &[well(1)]).await;

    let retired = |draining| {
        Some(Payload::AgentRetired(AgentRetired {
            agent_id: agent.clone(),
            draining,
        }))
    };
    for sink in &sinks {
        wait_until(BOUND, "it has heard", async || sink.received().len() == 3).await;
        let told = sink.received();
        assert_eq!(told[0].r#type, "coord.agent_spawned");
        assert_eq!(told[1].r#type, "coord.agent_retired");
        assert_eq!(told[1].payload, retired(true));
        assert_eq!(told[2].payload, retired(false));
    }
}

#[tokio::test]
async fn an_agent_from_outside_leaves_a_record_too() {
    let mut fixture = fixture::start().await;
    let enrolled = fixture.enroll("ada", &["write"]).await.unwrap();
    let ada = enrolled.agent.unwrap().agent_id;

    let compost = fixture.live(&ada, &[well(5)]).await;

    assert_eq!((compost.template.as_str(), compost.number), ("", 0));
    let again = fixture.enroll("ada", &["write"]).await.unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert_eq!(reason(&again), "AGENT_RETIRED");
}

#[tokio::test]
async fn an_agent_retires_itself_and_its_children_and_nobody_else() {
    let fixture = started().await;
    let parent = fixture.spawned().await;
    let child = fixture.spawned_by(&parent).await;
    let stranger = fixture.spawned().await;
    let as_agent = async |agent: &str, whom: &str| {
        let mut client = fixture.bearing(&fixture.keys.agent(agent));
        client.retire_agent(retirement(whom)).await.map(|_| ())
    };

    for (agent, whom) in [(&child, &parent), (&stranger, &child)] {
        let refused = as_agent(agent, whom).await.unwrap_err();

        assert_eq!(refused.code(), Code::PermissionDenied);
        assert_eq!(fixture.state_of(whom).await, AgentState::Active);
    }
    as_agent(&parent, &child).await.unwrap();
    as_agent(&parent, &parent).await.unwrap();
    assert_eq!(fixture.state_of(&child).await, AgentState::Draining);
    assert_eq!(fixture.state_of(&parent).await, AgentState::Draining);
}

#[tokio::test]
async fn what_has_no_form_is_refused_by_the_name_of_its_field() {
    let fixture = started().await;
    let agent = fixture.spawned().await;
    let failures = |texts: Vec<String>| RetireAgentRequest {
        failure_patterns: texts,
        ..retirement(&agent)
    };
    let hints = RetireAgentRequest {
        routing_hints: vec!["ask ada".to_owned(), "postgres://a:b@c/d works".to_owned()],
        ..retirement(&agent)
    };
    let bad = [
        ("failure_patterns[0]", failures(vec!["a".repeat(501)])),
        (
            "failure_patterns[1]",
            failures(vec!["a".to_owned(), String::new()]),
        ),
        ("failure_patterns[0]", failures(vec!["a\0b".to_owned()])),
        ("failure_patterns", failures(vec!["a".to_owned(); 51])),
        ("routing_hints[1]", hints),
        ("agent_id", retirement("seven")),
    ];

    for (name, request) in bad {
        let refused = fixture.retire(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&refused), name);
    }
    assert_eq!(fixture.state_of(&agent).await, AgentState::Active);
    let unknown = fixture
        .retire(retirement(&Uuid::now_v7().to_string()))
        .await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn records_are_listed_the_newest_first() {
    let fixture = started().await;
    let mut agents = Vec::new();
    for _ in 0..3 {
        let agent = fixture.spawned().await;
        fixture.live(&agent, &[well(1), failing("late")]).await;
        agents.insert(0, agent);
    }
    let mut found = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListCompostsRequest {
            workspace_id: "default".to_owned(),
            template: "writer".to_owned(),
            page_size: 2,
            page_token: token,
        };
        let page = fixture
            .composts()
            .list_composts(request)
            .await
            .unwrap()
            .into_inner();
        found.extend(page.composts);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    let ids: Vec<&String> = found.iter().map(|compost| &compost.agent_id).collect();
    assert_eq!(ids, agents.iter().collect::<Vec<_>>());
    assert!(found.iter().all(|compost| compost.patterns.len() == 1));
    assert_eq!(found[0].number, 3);
}
