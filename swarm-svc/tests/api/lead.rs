//! The lead: unaddressed work lands with it, it may ask between minds, and that is all.

use cambium_proto::swarm::v1::watch_grants_response::Item;
use cambium_proto::swarm::v1::{
    GetLeadRequest, GetLeadResponse, ListDocumentsRequest, MoveLeadRequest, MoveLeadResponse,
    Organ, RouteWorkRequest, TickRequest, WatchGrantsRequest, WorkState,
};
use chrono::TimeDelta;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::fixture::{BODY, Fixture, WORKSPACE, ordinary_dial, reason, request_id, start};
use crate::record::{ended, question, ruling};

pub(crate) fn to(mind: &str) -> MoveLeadRequest {
    MoveLeadRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        review_on: String::new(),
        reason: "It knows the way.".to_owned(),
    }
}

impl Fixture {
    async fn move_lead(&self, request: MoveLeadRequest) -> Result<MoveLeadResponse, Status> {
        Ok(self.routing().move_lead(request).await?.into_inner())
    }

    async fn lead(&self) -> GetLeadResponse {
        let request = GetLeadRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let lead = self.routing().get_lead(request).await.unwrap();
        lead.into_inner()
    }

    async fn route(&self, token: &str, work: &str, to: &str) -> Result<String, Status> {
        let request = RouteWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: work.to_owned(),
            to: to.to_owned(),
            refs: Vec::new(),
            reason: "It is yours to know.".to_owned(),
        };
        let routed = self.routing_bearing(token).route_work(request).await?;
        Ok(routed.into_inner().offer.unwrap().id)
    }

    /// How often the audit says that a caller was refused.
    async fn refusals(&self, actor: &str) -> i64 {
        let count = "SELECT count(*) FROM swarm.audit WHERE actor = $1 AND NOT allowed";
        let count = sqlx::query_scalar(count).bind(actor);
        count.fetch_one(&self.database.owner).await.unwrap()
    }

    async fn three_open(&self) {
        for mind in ["weksa", "eureka", "third"] {
            self.open(mind, 1_000_000).await;
        }
    }
}

#[tokio::test]
async fn unaddressed_work_goes_along_with_the_lead() {
    let swarm = start().await;
    swarm.three_open().await;
    let before = swarm.submit("").await;
    let addressed = swarm.submit("third").await;
    swarm.advance(TimeDelta::minutes(1)).await;

    swarm.move_lead(to("weksa")).await.unwrap();
    assert!(swarm.is_told("weksa").await && !swarm.is_told("third").await);
    let since = swarm.submit("").await;
    assert_eq!((since.state(), since.addressed), (WorkState::Held, false));
    assert_eq!(swarm.work(&before.work_id).await.holder, "weksa");

    swarm.move_lead(to("eureka")).await.unwrap();
    assert_eq!(swarm.lead().await.instance, "eureka");
    assert_eq!(swarm.work(&before.work_id).await.holder, "eureka");
    assert_eq!(swarm.work(&since.work_id).await.holder, "eureka");
    assert_eq!(swarm.work(&addressed.work_id).await.holder, "third");
    swarm.move_lead(to("")).await.unwrap();
    assert_eq!(swarm.lead().await.instance, "");
    assert_eq!(
        swarm.work(&since.work_id).await.state(),
        WorkState::Unrouted
    );
    let nobody = swarm.move_lead(to("")).await.unwrap_err();
    assert_eq!(nobody.code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn there_is_one_lead_and_it_is_looked_at_again() {
    let swarm = start().await;
    swarm.three_open().await;
    swarm.move_lead(to("weksa")).await.unwrap();
    assert_eq!(swarm.lead().await.review_on, "2026-08-30");

    let far = MoveLeadRequest {
        review_on: "2027-06-02".to_owned(),
        ..to("weksa")
    };
    let far = swarm.move_lead(far).await.unwrap_err();
    assert_eq!(far.code(), Code::InvalidArgument);
    let year = MoveLeadRequest {
        review_on: "2027-06-01".to_owned(),
        ..to("weksa")
    };
    swarm.move_lead(year).await.unwrap();
    swarm.move_lead(to("eureka")).await.unwrap();
    swarm.move_lead(to("weksa")).await.unwrap();

    let lead = swarm.lead().await;
    assert_eq!(lead.ruling_id, "weksa:ruling:swarm-lead-3");
    let request = ListDocumentsRequest {
        workspace_id: WORKSPACE.to_owned(),
        in_force_only: true,
        kind: cambium_proto::swarm::v1::DocumentKind::Ruling.into(),
        ..ListDocumentsRequest::default()
    };
    let listed = swarm.records().list_documents(request).await.unwrap();
    let in_force = listed.into_inner().documents;
    assert_eq!(in_force.len(), 1);
    assert_eq!(in_force[0].id, lead.ruling_id);
    swarm.advance(TimeDelta::days(91)).await;
    assert!(swarm.lead().await.review_overdue);
}

#[tokio::test]
async fn the_lead_routes_what_is_nobodys_and_what_it_returns_waits_for_the_operator() {
    let swarm = start().await;
    swarm.three_open().await;
    swarm.move_lead(to("weksa")).await.unwrap();
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let (routed, own) = (
        swarm.submit("").await.work_id,
        swarm.submit("weksa").await.work_id,
    );

    let addressed = swarm.route(&weksa, &own, "third").await.unwrap_err();
    assert_eq!(addressed.code(), Code::PermissionDenied);
    let no_lead = swarm.route(&eureka, &routed, "third").await.unwrap_err();
    assert_eq!(no_lead.code(), Code::PermissionDenied);
    let offer = swarm.route(&weksa, &routed, "eureka").await.unwrap();
    swarm.answer(&eureka, &offer, true).await.unwrap();
    assert_eq!(swarm.work(&routed).await.holder, "eureka");

    let back = swarm.give_back(&eureka, &routed).await.unwrap();
    assert_eq!((back.holder.as_str(), back.addressed), ("weksa", false));
    let waits = swarm.give_back(&weksa, &routed).await.unwrap();
    assert_eq!(waits.state(), WorkState::Unrouted);
    swarm.move_lead(to("third")).await.unwrap();
    assert_eq!(swarm.work(&routed).await.state(), WorkState::Unrouted);
}

#[tokio::test]
async fn the_lead_asks_between_minds_and_has_no_other_power() {
    let swarm = start().await;
    swarm.three_open().await;
    swarm.move_lead(to("weksa")).await.unwrap();
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let theirs = vec![ruling("eureka", "theirs", "mind", &json!({}))];
    swarm.append(&eureka, theirs).await.unwrap();

    let fork = vec![question("weksa", "fork", &["weksa", "eureka"])];
    swarm.append(&weksa, fork).await.unwrap();
    let answers = json!({"answers": "weksa:question:fork"});
    let by = json!({"by": "weksa:ruling:own"});
    for denied in [
        ruling("weksa", "own", "mind", &answers),
        ruling(
            "weksa",
            "swarm-lead-2",
            "standing",
            &json!({"label": "swarm-lead", "names_lead": "weksa"}),
        ),
        ended("eureka:ruling:theirs", "superseded", &by),
        ended("weksa:ruling:swarm-lead", "superseded", &by),
        question("eureka", "fork", &["weksa", "eureka"]),
    ] {
        let id = denied.id.clone();
        let refused = swarm.append(&weksa, vec![denied]).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{id}");
    }
    assert_eq!(swarm.refusals("mind:weksa").await, 5);
    let itself = swarm.routing_bearing(&weksa).move_lead(to("weksa")).await;
    assert_eq!(itself.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(swarm.lead().await.ruling_id, "weksa:ruling:swarm-lead");
}

#[tokio::test]
async fn a_turn_is_told_what_came_for_its_mind() {
    let swarm = start().await;
    swarm.open_released("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    swarm.dial(ordinary_dial()).await;
    let (held, offered) = (swarm.submit("weksa").await, swarm.submit("eureka").await);
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    swarm.move_lead(to("eureka")).await.unwrap();
    let routed = swarm.submit("").await;
    swarm
        .route(&eureka, &routed.work_id, "weksa")
        .await
        .unwrap();
    assert_eq!(swarm.work(&offered.work_id).await.holder, "eureka");

    let request = TickRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    swarm.scheduler().tick(request).await.unwrap();
    let request = WatchGrantsRequest {
        workspace_id: WORKSPACE.to_owned(),
        body: BODY.to_owned(),
    };
    let mut grants = swarm
        .body()
        .watch_grants(request)
        .await
        .unwrap()
        .into_inner();
    let brief = loop {
        if let Some(Item::Grant(grant)) = grants.message().await.unwrap().unwrap().item {
            break grant.brief;
        }
    };

    let brief: Value = serde_json::from_slice(&brief).unwrap();
    assert_eq!(brief["held_work"][0]["work_id"], json!(held.work_id));
    assert_eq!(brief["held_work"].as_array().unwrap().len(), 1);
    assert_eq!(brief["offers"][0]["giver"], json!("eureka"));
    assert_eq!(brief["offers"][0]["work"]["work_id"], json!(routed.work_id));
    assert_eq!(brief["reason"], json!(["first", "always", "news"]));
    assert_eq!(brief["answers"], json!([]));
    let unknown = swarm
        .route(&eureka, &request_id(), "weksa")
        .await
        .unwrap_err();
    assert_eq!(reason(&unknown), "WORK_UNKNOWN");
}
