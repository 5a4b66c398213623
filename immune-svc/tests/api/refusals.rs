//! Who may call what: by kind of caller, and by workspace. A refused call changes nothing.

use cambium_proto::immune::v1 as wire;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, Party, adjustment, back, out, reason};
use crate::told::{agents, spawned};

fn workspace() -> String {
    "default".to_owned()
}

fn request_id() -> String {
    Uuid::new_v4().to_string()
}

/// Every call that changes something, but Deliver, as this caller would make it.
async fn change_everything(party: &Party, token: &str, agent: Uuid) -> Vec<Result<(), Status>> {
    let mut generosity = party.generosity_as(token);
    let contribution = wire::RecordContributionRequest {
        workspace_id: workspace(),
        cause_id: "c".to_owned(),
        agent_id: agent.to_string(),
        receiver_agent_id: agent.to_string(),
        reason: "so".to_owned(),
        ..wire::RecordContributionRequest::default()
    };
    let consumption = wire::RecordConsumptionRequest {
        workspace_id: workspace(),
        cause_id: "c".to_owned(),
        agent_id: agent.to_string(),
        reason: "so".to_owned(),
        ..wire::RecordConsumptionRequest::default()
    };
    let share = wire::RecordKnowledgeShareRequest {
        workspace_id: workspace(),
        cause_id: "c".to_owned(),
        agent_id: agent.to_string(),
        reason: "so".to_owned(),
        ..wire::RecordKnowledgeShareRequest::default()
    };
    let policy = wire::PutPolicyRequest {
        workspace_id: workspace(),
        request_id: request_id(),
        policy: Some(wire::Policy::default()),
    };
    let rule = wire::PutRuleRequest {
        workspace_id: workspace(),
        request_id: request_id(),
        rule: Some(wire::Rule::default()),
    };
    let dry_run = wire::DryRunRuleRequest {
        workspace_id: workspace(),
        ..wire::DryRunRuleRequest::default()
    };
    let acknowledgement = wire::AcknowledgeAlertRequest {
        workspace_id: workspace(),
        request_id: request_id(),
        alert_id: request_id(),
    };
    vec![
        generosity.record_contribution(contribution).await.map(drop),
        generosity.record_consumption(consumption).await.map(drop),
        generosity.record_knowledge_share(share).await.map(drop),
        generosity.put_policy(policy).await.map(drop),
        party
            .standings_as(token)
            .adjust_trust(adjustment(agent, 0.1))
            .await
            .map(drop),
        party
            .quarantines_as(token)
            .quarantine_agent(out(agent))
            .await
            .map(drop),
        party
            .quarantines_as(token)
            .release_quarantine(back(agent))
            .await
            .map(drop),
        party.rules_as(token).put_rule(rule).await.map(drop),
        party.rules_as(token).dry_run_rule(dry_run).await.map(drop),
        party
            .alerts_as(token)
            .acknowledge_alert(acknowledgement)
            .await
            .map(drop),
    ]
}

/// Every call that only looks, but watches.
async fn look_everywhere(party: &Party, token: &str, agent: Uuid) -> Vec<Result<(), Status>> {
    let mut standings = party.standings_as(token);
    let standing = wire::GetStandingRequest {
        workspace_id: workspace(),
        agent_id: agent.to_string(),
        name: String::new(),
    };
    let list = wire::ListStandingsRequest {
        workspace_id: workspace(),
        ..wire::ListStandingsRequest::default()
    };
    let explain = wire::ExplainStandingRequest {
        workspace_id: workspace(),
        agent_id: agent.to_string(),
        ..wire::ExplainStandingRequest::default()
    };
    let quarantines = wire::ListQuarantinesRequest {
        workspace_id: workspace(),
        ..wire::ListQuarantinesRequest::default()
    };
    let rules = wire::ListRulesRequest {
        workspace_id: workspace(),
    };
    let anomalies = wire::ListAnomaliesRequest {
        workspace_id: workspace(),
        ..wire::ListAnomaliesRequest::default()
    };
    let alerts = wire::ListAlertsRequest {
        workspace_id: workspace(),
        ..wire::ListAlertsRequest::default()
    };
    let policy = wire::GetPolicyRequest {
        workspace_id: workspace(),
    };
    vec![
        standings.get_standing(standing).await.map(drop),
        standings.list_standings(list).await.map(drop),
        standings.explain_standing(explain).await.map(drop),
        party
            .quarantines_as(token)
            .list_quarantines(quarantines)
            .await
            .map(drop),
        party.rules_as(token).list_rules(rules).await.map(drop),
        party
            .rules_as(token)
            .list_anomalies(anomalies)
            .await
            .map(drop),
        party.alerts_as(token).list_alerts(alerts).await.map(drop),
        party
            .generosity_as(token)
            .get_policy(policy)
            .await
            .map(drop),
    ]
}

async fn with_agent() -> (Fixture, Uuid) {
    let fixture = fixture::start().await;
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &[])]).await;
    (fixture, ada)
}

#[tokio::test]
async fn agents_workers_and_viewers_look_and_change_nothing() {
    let (fixture, ada) = with_agent().await;
    let before = fixture.everything().await;
    let tokens = [
        fixture.keys.agent(ada),
        fixture.keys.worker(&[ada]),
        fixture.keys.viewer(),
    ];

    for token in tokens {
        for refused in change_everything(&fixture, &token, ada).await {
            assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
        }
        for looked in look_everywhere(&fixture, &token, ada).await {
            looked.unwrap();
        }
    }

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn services_record_what_is_theirs_and_look_at_nothing() {
    let (fixture, ada) = with_agent().await;
    let before = fixture.everything().await;

    for name in ["genesis", "swarm", "gateway", "immune"] {
        let token = fixture.keys.service(name);
        for refused in change_everything(&fixture, &token, ada).await {
            assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
        }
        for refused in look_everywhere(&fixture, &token, ada).await {
            assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
        }
    }

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn strangers_are_not_let_in() {
    let (fixture, ada) = with_agent().await;
    let before = fixture.everything().await;

    for token in ["", "nonsense"] {
        for refused in change_everything(&fixture, token, ada).await {
            assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
        }
        for refused in look_everywhere(&fixture, token, ada).await {
            assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
        }
    }

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_closed_workspace_looks_like_none() {
    let (fixture, ada) = with_agent().await;
    let before = fixture.everything().await;
    let token = fixture.keys.operator_of(&["north"]);

    let changed = change_everything(&fixture, &token, ada).await;
    let looked = look_everywhere(&fixture, &token, ada).await;

    for refused in changed.into_iter().chain(looked) {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(reason(&refused), "WORKSPACE_UNKNOWN");
    }
    assert_eq!(fixture.everything().await, before);
}
