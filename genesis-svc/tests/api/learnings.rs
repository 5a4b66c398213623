//! How a template learns: promotion, confirmation, heirs, hold-out, pruning, explanation and roll-back.

use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::genesis::v1::{
    CandidateState, ExplainLearningRequest, ExplainLearningResponse, Fared, LearningKind,
    LearningState, ListLearningsRequest, RollBackLearningRequest, TemplateSpec,
};
use chrono::TimeDelta;
use serde_json::Value;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, failing, field, put, reason, spawn, spec, well};

/// A template that three lineages have taught one thing.
async fn taught() -> Fixture {
    taught_with(spec()).await
}

async fn taught_with(spec: TemplateSpec) -> Fixture {
    let fixture = fixture::start().await;
    fixture.put(put(spec)).await.unwrap();
    // All spawned before anything is known: none of them inherits.
    let mut agents = Vec::new();
    for _ in 0..3 {
        agents.push(fixture.spawned().await);
    }
    for agent in agents {
        fixture
            .live(&agent, &[well(9), failing("no answer in 30 s")])
            .await;
    }
    fixture
}

#[tokio::test]
async fn what_three_lineages_tell_is_learned_and_handed_on() {
    let fixture = taught().await;

    let [learning] = fixture.learnings().await.try_into().unwrap();
    let heir = fixture.spawn(spawn("")).await.unwrap();

    assert_eq!(learning.pattern, "AGENT_ERROR no answer in # s");
    assert_eq!(learning.kind(), LearningKind::Failure);
    assert_eq!(learning.source_agent_count, 3);
    assert!((learning.success_correlation - 0.9).abs() < 1e-9);
    assert_eq!(learning.state(), LearningState::Active);
    let config = heir.config.unwrap();
    let inherited: Value = serde_json::from_slice(&config.inherited_learnings).unwrap();
    assert_eq!(inherited[0]["learning_id"], learning.learning_id.as_str());
    assert_eq!(inherited[0]["pattern"], learning.pattern.as_str());
    assert_eq!(inherited[0]["source_agent_count"], 3);
    assert_eq!(config.inherited_hash.len(), 64);
    assert_eq!(config.held_out_learning_ids, Vec::<String>::new());
}

#[tokio::test]
async fn who_is_at_exactly_the_gate_teaches_nothing() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();

    for _ in 0..4 {
        let agent = fixture.spawned().await;
        let compost = fixture
            .live(&agent, &[well(4), failing("no answer in 30 s")])
            .await;
        assert!((compost.success_rate - 0.8).abs() < 1e-9);
    }

    assert_eq!(fixture.learnings().await, []);
}

#[tokio::test]
async fn an_heir_refreshes_and_does_not_count() {
    let fixture = taught().await;
    let [before] = fixture.learnings().await.try_into().unwrap();
    let heir = fixture.spawned().await;

    fixture.database.advance(TimeDelta::hours(1)).await;
    fixture
        .live(&heir, &[well(9), failing("no answer in 4 s")])
        .await;

    let [after] = fixture.learnings().await.try_into().unwrap();
    assert_eq!(after.source_agent_count, 3);
    assert_eq!(after.success_correlation, before.success_correlation);
    assert!(after.last_confirm_time.unwrap().seconds > before.last_confirm_time.unwrap().seconds);
}

#[tokio::test]
async fn whoever_was_spawned_without_it_confirms_it() {
    let fixture = taught_with(TemplateSpec {
        holdout_share: Some(1.0),
        ..spec()
    })
    .await;
    let [learning] = fixture.learnings().await.try_into().unwrap();
    let independent = fixture.spawn(spawn("")).await.unwrap();
    let config = independent.config.unwrap();
    assert_eq!(
        config.held_out_learning_ids,
        vec![learning.learning_id.clone()]
    );
    assert_eq!(config.inherited_learnings, Vec::<u8>::new());

    let agent = independent.agent.unwrap().agent_id;
    let compost = fixture
        .live(&agent, &[well(19), failing("no answer in 4 s")])
        .await;

    assert_eq!(compost.patterns[0].candidate(), CandidateState::None);
    let explained = explain(&fixture, &learning.learning_id).await;
    let learning = explained.learning.unwrap();
    assert_eq!(learning.source_agent_count, 4);
    assert!((learning.success_correlation - 0.9125).abs() < 1e-9);
    let confirmations = explained.confirmations;
    assert_eq!(confirmations.len(), 4);
    assert_eq!(confirmations[3].agent_id, agent);
    assert!((confirmations[3].success_rate - 0.95).abs() < 1e-9);
    assert_eq!(explained.with, Some(Fared::default()));
    let without = explained.without.unwrap();
    assert_eq!(without.agents, 1);
    assert!((without.mean_success_rate - 0.95).abs() < 1e-9);
}

#[tokio::test]
async fn a_learning_shows_how_its_heirs_fare() {
    let fixture = taught().await;
    let [learning] = fixture.learnings().await.try_into().unwrap();
    for tasks in [1, 3] {
        let heir = fixture.spawned().await;
        fixture.live(&heir, &[well(tasks), failing("else")]).await;
    }

    let explained = explain(&fixture, &learning.learning_id).await;

    let with = explained.with.unwrap();
    assert_eq!(with.agents, 2);
    assert!((with.mean_success_rate - 0.625).abs() < 1e-9);
}

#[tokio::test]
async fn what_nobody_confirms_for_long_is_pruned_and_stays_as_history() {
    let fixture = taught().await;
    let [learning] = fixture.learnings().await.try_into().unwrap();
    sqlx::query("UPDATE genesis.template SET composts = 22")
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    let mut losses = Vec::new();
    for _ in 0..9 {
        let agent = fixture.spawned().await;
        fixture.live(&agent, &[]).await;
        losses.extend(fixture.learnings().await.iter().map(|one| one.losses));
    }

    assert_eq!(losses, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(fixture.learnings().await, []);
    let gone = explain(&fixture, &learning.learning_id)
        .await
        .learning
        .unwrap();
    assert_eq!(gone.state(), LearningState::Pruned);
    assert!(gone.remove_reason.contains("not confirmed"));
    let heir = fixture.spawn(spawn("")).await.unwrap();
    assert_eq!(heir.config.unwrap().inherited_learnings, Vec::<u8>::new());
}

#[tokio::test]
async fn an_operator_rolls_a_learning_back_with_a_reason() {
    let fixture = taught().await;
    let [learning] = fixture.learnings().await.try_into().unwrap();
    let request = roll_back(&learning.learning_id);

    let first = fixture
        .templates()
        .roll_back_learning(request.clone())
        .await;
    let again = fixture.templates().roll_back_learning(request).await;
    let once_more = roll_back(&learning.learning_id);
    let once_more = fixture.templates().roll_back_learning(once_more).await;

    let first = first.unwrap().into_inner();
    assert_eq!(first, again.unwrap().into_inner());
    assert_eq!(first, once_more.unwrap().into_inner());
    let gone = first.learning.unwrap();
    assert_eq!(gone.state(), LearningState::RolledBack);
    assert_eq!(
        (gone.remove_reason.as_str(), gone.removed_by.as_str()),
        ("wrong", "operator:ada")
    );
    assert_eq!(fixture.learnings().await, []);
    let heir = fixture.spawn(spawn("")).await.unwrap();
    assert_eq!(heir.config.unwrap().inherited_learnings, Vec::<u8>::new());
    let all = ListLearningsRequest {
        workspace_id: "default".to_owned(),
        template: "writer".to_owned(),
        include_removed: true,
        ..ListLearningsRequest::default()
    };
    let all = fixture.templates().list_learnings(all).await.unwrap();
    assert_eq!(all.into_inner().learnings, [gone]);
}

#[tokio::test]
async fn rolling_back_needs_a_recent_login() {
    let fixture = taught().await;
    let [learning] = fixture.learnings().await.try_into().unwrap();
    let old = fixture.operator_since(SystemClock.now() - TimeDelta::minutes(6));

    let refused = fixture
        .templates_bearing(&old)
        .roll_back_learning(roll_back(&learning.learning_id))
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(reason(&refused), "STEP_UP");
    assert_eq!(fixture.learnings().await.len(), 1);
}

#[tokio::test]
async fn what_is_unknown_or_has_no_form_is_refused() {
    let fixture = taught().await;
    let unknown = Uuid::now_v7().to_string();

    let refused = fixture
        .templates()
        .roll_back_learning(roll_back(&unknown))
        .await;
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::NotFound, "LEARNING_UNKNOWN")
    );
    let request = ExplainLearningRequest {
        workspace_id: "default".to_owned(),
        learning_id: unknown.clone(),
    };
    let refused = fixture.templates().explain_learning(request).await;
    assert_eq!(refused.unwrap_err().code(), Code::NotFound);
    let silent = RollBackLearningRequest {
        reason: String::new(),
        ..roll_back(&unknown)
    };
    let refused = fixture.templates().roll_back_learning(silent).await;
    assert_eq!(field(&refused.unwrap_err()), "reason");
    let refused = fixture
        .templates()
        .roll_back_learning(roll_back("seven"))
        .await;
    assert_eq!(field(&refused.unwrap_err()), "learning_id");
}

fn roll_back(learning: &str) -> RollBackLearningRequest {
    RollBackLearningRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        learning_id: learning.to_owned(),
        reason: "wrong".to_owned(),
    }
}

async fn explain(fixture: &Fixture, learning: &str) -> ExplainLearningResponse {
    let request = ExplainLearningRequest {
        workspace_id: "default".to_owned(),
        learning_id: learning.to_owned(),
    };
    let reply = fixture.templates().explain_learning(request).await.unwrap();
    reply.into_inner()
}
