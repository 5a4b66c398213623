//! A mind's token is its fence: minted by whoever carries its turn, and worth nothing once that is over.

use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::swarm::v1::{
    BodyTarget, Fresh, MintMindTokenRequest, MintMindTokenResponse, OpenMindRequest, Organ, Target,
    Turn, target,
};
use tonic::{Code, Status};

use super::steps::{ack, rich, settle, tick_by};
use super::writes::{put_persona, writes, written};
use crate::control_steps::launched;
use crate::fixture::{BODY, Fixture, WORKSPACE, field, opening, reason, request_id};
use crate::record::question;

fn of_turn(turn: &Turn, organ: Organ) -> MintMindTokenRequest {
    MintMindTokenRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
        epoch: turn.epoch,
        organ: organ.into(),
        ..MintMindTokenRequest::default()
    }
}

async fn mint(
    swarm: &Fixture,
    as_whom: &str,
    request: MintMindTokenRequest,
) -> Result<MintMindTokenResponse, Status> {
    let reply = swarm
        .timeline_bearing(as_whom)
        .mint_mind_token(request)
        .await?;
    Ok(reply.into_inner())
}

async fn running() -> (Fixture, Turn) {
    let swarm = rich(1).await;
    let fresh = Fresh {
        public_name: "Ada".to_owned(),
        public_description: "Somebody.".to_owned(),
        voice_summary: "Dry.".to_owned(),
    };
    let birth = OpenMindRequest {
        fresh: Some(fresh),
        ..opening("ada")
    };
    swarm.minds().open_mind(birth).await.unwrap();
    swarm.share("ada", 4_000_000).await.unwrap();
    swarm.release("ada").await;
    swarm.open("bob", 1_000_000).await;
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk 1").await.unwrap();
    (swarm, turn)
}

#[tokio::test]
async fn a_token_writes_while_its_turn_lives_and_nothing_afterwards() {
    let (swarm, turn) = running().await;
    let body = swarm.keys.worker_named(BODY);
    let own = mint(&swarm, &body, of_turn(&turn, Organ::Self_))
        .await
        .unwrap();
    let persona = mint(&swarm, &body, of_turn(&turn, Organ::Persona))
        .await
        .unwrap();
    assert_eq!(
        (own.organ(), persona.organ()),
        (Organ::Self_, Organ::Persona)
    );

    let life = own.expire_time.unwrap().seconds - SystemClock.now().timestamp();
    assert!((3_500..=3_600).contains(&life), "{life}");

    for (what, done) in writes(&swarm, &own.token, &persona.token).await {
        done.unwrap_or_else(|status| panic!("{what}: {status}"));
    }
    settle(&swarm, &turn, 1_000).await;

    let before = written(&swarm).await;
    for (what, refused) in writes(&swarm, &own.token, &persona.token).await {
        let refused = refused.expect_err(what);
        assert_eq!(
            (refused.code(), reason(&refused).as_str()),
            (Code::Aborted, "TURN_LOST"),
            "{what}"
        );
    }
    assert_eq!(written(&swarm).await, before);
    let late = mint(&swarm, &body, of_turn(&turn, Organ::Self_))
        .await
        .unwrap_err();
    assert_eq!(
        (late.code(), reason(&late).as_str()),
        (Code::Aborted, "TURN_LOST")
    );
}

#[tokio::test]
async fn the_token_of_a_turn_is_no_key_to_the_next() {
    let (swarm, turn) = running().await;
    let body = swarm.keys.worker_named(BODY);
    let old = mint(&swarm, &body, of_turn(&turn, Organ::Self_))
        .await
        .unwrap();
    settle(&swarm, &turn, 1_000).await;
    let next = tick_by(swarm.scheduler()).await.turn.unwrap();
    assert_eq!(next.instance, "ada");
    ack(&swarm, &next, "desk 1").await.unwrap();

    let lost = swarm
        .append(&old.token, vec![question("ada", "way", &[])])
        .await;
    assert_eq!(reason(&lost.unwrap_err()), "TURN_LOST");
    let new = mint(&swarm, &body, of_turn(&next, Organ::Self_))
        .await
        .unwrap();
    swarm
        .append(&new.token, vec![question("ada", "way", &[])])
        .await
        .unwrap();
}

#[tokio::test]
async fn only_who_carries_the_turn_or_opened_the_session_gets_a_token() {
    let (swarm, turn) = running().await;
    let body = swarm.keys.worker_named(BODY);
    let strangers = [
        swarm.keys.worker_named("cellar"),
        swarm.keys.operator(),
        swarm.keys.viewer(),
        swarm.keys.meter(),
        swarm.keys.scheduler(),
    ];
    for token in strangers {
        let refused = mint(&swarm, &token, of_turn(&turn, Organ::Self_))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let stale = MintMindTokenRequest {
        epoch: turn.epoch - 1,
        ..of_turn(&turn, Organ::Self_)
    };
    let stale = mint(&swarm, &body, stale).await.unwrap_err();
    assert_eq!(reason(&stale), "TURN_LOST");
    let neither = MintMindTokenRequest {
        turn_id: String::new(),
        ..of_turn(&turn, Organ::Self_)
    };
    assert_eq!(
        field(&mint(&swarm, &body, neither).await.unwrap_err()),
        "turn_id"
    );
    let both = MintMindTokenRequest {
        session_id: request_id(),
        ..of_turn(&turn, Organ::Self_)
    };
    assert_eq!(
        field(&mint(&swarm, &body, both).await.unwrap_err()),
        "session_id"
    );

    swarm.operate("bob", Organ::Self_).await;
    let session: uuid::Uuid = sqlx::query_scalar("SELECT session_id FROM swarm.operator_session")
        .fetch_one(&swarm.database.owner)
        .await
        .unwrap();
    let of_session = MintMindTokenRequest {
        workspace_id: WORKSPACE.to_owned(),
        session_id: session.to_string(),
        ..MintMindTokenRequest::default()
    };
    for token in [body, swarm.keys.viewer()] {
        let refused = mint(&swarm, &token, of_session.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let operator = swarm.keys.operator();
    let token = mint(&swarm, &operator, of_session.clone()).await.unwrap();
    assert_eq!(token.organ(), Organ::Persona);
    swarm.end_session_with("bob").await;
    let over = mint(&swarm, &operator, of_session).await.unwrap_err();
    assert_eq!(
        (over.code(), reason(&over).as_str()),
        (Code::Aborted, "TURN_LOST")
    );
}

#[tokio::test]
async fn an_organ_does_what_is_its_own() {
    let (swarm, turn) = running().await;
    let body = swarm.keys.worker_named(BODY);
    let own = mint(&swarm, &body, of_turn(&turn, Organ::Self_))
        .await
        .unwrap();
    let refused = put_persona(&swarm, &own.token).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let either = mint(&swarm, &body, of_turn(&turn, Organ::Unspecified))
        .await
        .unwrap();
    assert_eq!(either.organ(), Organ::Persona);
    settle(&swarm, &turn, 1_000).await;

    swarm.hold("ada").await;
    let target = Target {
        target: Some(target::Target::Body(BodyTarget {
            name: "bench".to_owned(),
            organs: vec![Organ::Self_.into()],
        })),
    };
    let birth = OpenMindRequest {
        target: Some(target),
        ..opening("cyd")
    };
    swarm.minds().open_mind(birth).await.unwrap();
    swarm.share("cyd", 1_000_000).await.unwrap();
    swarm.release("cyd").await;
    let turn = launched(&swarm).await;
    let bench = swarm.keys.worker_named("bench");
    let refused = mint(&swarm, &bench, of_turn(&turn, Organ::Persona))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let only = mint(&swarm, &bench, of_turn(&turn, Organ::Unspecified))
        .await
        .unwrap();
    assert_eq!(only.organ(), Organ::Self_);
}
