//! The end of a mind here: retired, or moved to another host.

use cambium_proto::swarm::v1::{
    CompleteTransferRequest, DocumentKind, ExportMindRequest, GetDocumentRequest, GetMindRequest,
    LendShareRequest, Mind, MindState, Organ, ReceiveMindRequest, RetireMindRequest,
    SetTargetRequest, WithdrawWorkRequest,
};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::agenda::stamp;
use crate::fixture::{
    Fixture, WORKSPACE, body_target, field, opening, ordinary_dial, reason, request_id, start,
};
use crate::record::{document, ended};

const ELSEWHERE: &str = "elsewhere";

fn campaign() -> Value {
    json!({"label": "north", "title": "North", "goal": "To get there.", "started_on": "2026-06-01"})
}

impl Fixture {
    pub(crate) async fn retire(&self, mind: &str) -> Result<Mind, Status> {
        let request = RetireMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            reason: "Its work is done.".to_owned(),
        };
        let retired = self.minds().retire_mind(request).await?;
        Ok(retired.into_inner().mind.unwrap())
    }

    async fn export(&self, mind: &str) -> Result<String, Status> {
        let request = ExportMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            instance: mind.to_owned(),
        };
        let mut parts = self.minds().export_mind(request).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(part) = parts.message().await? {
            bytes.extend(part.chunk);
        }
        Ok(String::from_utf8(bytes).unwrap())
    }

    async fn receive(&self, bundle: &str) -> Result<Mind, Status> {
        let first = ReceiveMindRequest {
            workspace_id: ELSEWHERE.to_owned(),
            request_id: request_id(),
            host: "there".to_owned(),
            chunk: Vec::new(),
        };
        let parts = bundle
            .as_bytes()
            .chunks(1_000)
            .map(|part| ReceiveMindRequest {
                chunk: part.to_vec(),
                ..ReceiveMindRequest::default()
            });
        let messages: Vec<ReceiveMindRequest> = std::iter::once(first).chain(parts).collect();
        let received = self
            .minds()
            .receive_mind(tokio_stream::iter(messages))
            .await?;
        Ok(received.into_inner().mind.unwrap())
    }

    async fn complete_move(&self, mind: &str, sha256: &str) -> Result<Mind, Status> {
        let request = CompleteTransferRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            to_host: "there".to_owned(),
            bundle_sha256: sha256.to_owned(),
        };
        let completed = self.minds().complete_transfer(request).await?;
        Ok(completed.into_inner().mind.unwrap())
    }

    async fn count_of(&self, table: &str, mind: &str) -> i64 {
        let count = format!(
            "SELECT count(*) FROM swarm.{table} WHERE workspace_id = 'default' AND instance = $1"
        );
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count)).bind(mind);
        count.fetch_one(&self.database.owner).await.unwrap()
    }
}

/// The digest that a bundle's last line tells.
fn told(bundle: &str) -> String {
    let last: Value = serde_json::from_str(bundle.lines().last().unwrap()).unwrap();
    last["sha256"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn all_that_keeps_a_mind_is_named_at_once() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("eureka", 1_000_000).await;
    let token = swarm.operate("eureka", Organ::Self_).await;
    let goal = document(DocumentKind::Campaign, "eureka:campaign:north", &campaign());
    swarm.append(&token, vec![goal]).await.unwrap();
    let work = swarm.submit("eureka").await;

    let refused = swarm.retire("eureka").await.unwrap_err();

    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(reason(&refused), "NOT_READY");
    let unmet = refused
        .get_details_precondition_failure()
        .unwrap()
        .violations;
    let unmet: Vec<&str> = unmet.iter().map(|one| one.r#type.as_str()).collect();
    assert_eq!(
        unmet,
        [
            "BrakeReleased",
            "OpenSession",
            "CampaignInForce",
            "WorkHeld"
        ]
    );
    let end = ended(
        "eureka:campaign:north",
        "closed",
        &json!({"reason": "There."}),
    );
    swarm.append(&token, vec![end]).await.unwrap();
    swarm.end_session_with("eureka").await;
    swarm.hold("eureka").await;
    let withdraw = WithdrawWorkRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        work_id: work.work_id,
    };
    swarm.routing().withdraw_work(withdraw).await.unwrap();

    let retired = swarm.retire("eureka").await.unwrap();

    assert_eq!(
        (retired.state(), retired.share_ppm),
        (MindState::Retired, 0)
    );
    assert_eq!(retired.reason, "Its work is done.");
    assert_eq!(swarm.count_of("timeline_mind", "eureka").await, 0);
    assert_eq!(swarm.count_of("share", "eureka").await, 0);
    assert!(swarm.document("eureka:identity:1").await.in_force);
    assert_eq!(
        swarm.retire("eureka").await.unwrap().state(),
        MindState::Retired
    );
    let reborn = swarm
        .minds()
        .open_mind(opening("eureka"))
        .await
        .unwrap_err();
    assert_eq!(reason(&reborn), "SLUG_TAKEN");
    let target = SetTargetRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: "eureka".to_owned(),
        target: body_target("lab"),
    };
    let target = swarm.minds().set_target(target).await.unwrap_err();
    assert_eq!(reason(&target), "MIND_RETIRED");
}

#[tokio::test]
async fn what_a_mind_lent_ends_with_it() {
    let swarm = start().await;
    for mind in ["eureka", "weksa"] {
        swarm.open(mind, 1_000_000).await;
    }
    let token = swarm.operate("eureka", Organ::Self_).await;
    let lend = LendShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        borrower: "weksa".to_owned(),
        share_ppm: 100_000,
        until: stamp(swarm.now() + chrono::TimeDelta::hours(1)),
    };
    swarm.loans_bearing(&token).lend_share(lend).await.unwrap();
    swarm.end_session_with("eureka").await;

    swarm.retire("eureka").await.unwrap();

    let ended: Option<String> = sqlx::query_scalar("SELECT ended_by FROM swarm.loan")
        .fetch_one(&swarm.database.owner)
        .await
        .unwrap();
    assert_eq!(ended.as_deref(), Some("operator:ada"));
    let due: bool = sqlx::query_scalar(
        "SELECT due_at <= swarm.now() FROM swarm.launch WHERE instance = 'weksa'",
    )
    .fetch_one(&swarm.database.owner)
    .await
    .unwrap();
    assert!(due);
}

#[tokio::test]
async fn a_mind_moves_whole_and_leaves_its_old_side_readable() {
    let swarm = start().await;
    let mut birth = opening("eureka");
    birth.fresh = Some(cambium_proto::swarm::v1::Fresh {
        public_name: "Eureka".to_owned(),
        ..cambium_proto::swarm::v1::Fresh::default()
    });
    swarm.minds().open_mind(birth).await.unwrap();
    let token = swarm.operate("eureka", Organ::Self_).await;
    let goal = document(DocumentKind::Campaign, "eureka:campaign:north", &campaign());
    swarm.append(&token, vec![goal]).await.unwrap();
    let old = swarm.export("eureka").await.unwrap();
    let south = Value::String("South".to_owned());
    let mut other = campaign();
    other["label"] = json!("south");
    other["title"] = south;
    let goal = document(DocumentKind::Campaign, "eureka:campaign:south", &other);
    swarm.append(&token, vec![goal]).await.unwrap();
    swarm.end_session_with("eureka").await;
    let bundle = swarm.export("eureka").await.unwrap();
    assert_eq!(swarm.export("eureka").await.unwrap(), bundle);

    let altered = swarm.receive(&bundle.replace("South", "Sauth")).await;
    assert_eq!(field(&altered.unwrap_err()), "bundle");
    let received = swarm.receive(&bundle).await.unwrap();

    assert_eq!(
        (received.state(), received.host.as_str()),
        (MindState::Asleep, "there")
    );
    assert_eq!((received.share_ppm, received.target), (0, None));
    let identity = |id: &str| GetDocumentRequest {
        workspace_id: ELSEWHERE.to_owned(),
        holder: "eureka".to_owned(),
        id: id.to_owned(),
    };
    for (id, in_force) in [
        ("eureka:identity:1", false),
        ("eureka:identity:2", true),
        ("eureka:campaign:south", true),
    ] {
        let found = swarm.records().get_document(identity(id)).await.unwrap();
        assert_eq!(
            found.into_inner().document.unwrap().in_force,
            in_force,
            "{id}"
        );
    }
    let again = swarm.receive(&bundle).await.unwrap_err();
    assert_eq!(reason(&again), "SLUG_TAKEN");

    let stale = swarm
        .complete_move("eureka", &told(&old))
        .await
        .unwrap_err();
    assert_eq!(reason(&stale), "BUNDLE_STALE");
    let moved = swarm.complete_move("eureka", &told(&bundle)).await.unwrap();
    assert_eq!(
        (moved.state(), moved.moved_to.as_str()),
        (MindState::Moved, "there")
    );
    assert!(swarm.complete_move("eureka", &told(&bundle)).await.is_ok());
    assert_eq!(
        reason(&swarm.export("eureka").await.unwrap_err()),
        "MIND_MOVED"
    );
    assert!(swarm.document("eureka:campaign:north").await.in_force);
    let there = GetMindRequest {
        workspace_id: ELSEWHERE.to_owned(),
        instance: "eureka".to_owned(),
    };
    assert!(swarm.minds().get_mind(there).await.is_ok());
}

#[tokio::test]
async fn an_awake_mind_is_not_exported() {
    let swarm = start().await;
    swarm.minds().open_mind(opening("eureka")).await.unwrap();
    swarm.release("eureka").await;

    let refused = swarm.export("eureka").await.unwrap_err();

    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::FailedPrecondition, "NOT_READY")
    );
}
