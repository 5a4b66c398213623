//! The operator's word in records, and when rulings are looked at again.

use cambium_proto::swarm::v1::{
    ListReviewsRequest, NewDocument, OpenQuestionRequest, OpenQuestionResponse, Organ, Review,
    RuleAsOperatorRequest, RuleAsOperatorResponse,
};
use chrono::TimeDelta;
use serde_json::json;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, reason, request_id, start};
use crate::record::{ended, question, ruling};

impl Fixture {
    async fn rule(
        &self,
        holder: &str,
        documents: Vec<NewDocument>,
    ) -> Result<RuleAsOperatorResponse, Status> {
        let request = RuleAsOperatorRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            holder: holder.to_owned(),
            documents,
        };
        let ruled = self.records().rule_as_operator(request).await?;
        Ok(ruled.into_inner())
    }

    pub(crate) async fn ask(
        &self,
        holder: &str,
        question: NewDocument,
    ) -> Result<OpenQuestionResponse, Status> {
        let request = OpenQuestionRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            holder: holder.to_owned(),
            question: Some(question),
        };
        Ok(self.records().open_question(request).await?.into_inner())
    }

    async fn reviews(&self, overdue_only: bool) -> Vec<Review> {
        let request = ListReviewsRequest {
            workspace_id: WORKSPACE.to_owned(),
            overdue_only,
            ..ListReviewsRequest::default()
        };
        let listed = self.records().list_reviews(request).await.unwrap();
        listed.into_inner().reviews
    }

    /// Whether something came for a mind at this instant of the clock that stands still.
    pub(crate) async fn is_told(&self, mind: &str) -> bool {
        let told =
            "SELECT coalesce(reason_at = swarm.now(), false) FROM swarm.launch WHERE instance = $1";
        let told = sqlx::query_scalar(told).bind(mind);
        told.fetch_one(&self.database.owner).await.unwrap()
    }
}

#[tokio::test]
async fn a_fork_between_minds_is_the_operators_to_answer() {
    let swarm = start().await;
    for mind in ["weksa", "eureka", "third"] {
        swarm.open(mind, 1_000_000).await;
    }
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let fork = question("weksa", "fork", &["weksa", "eureka"]);
    swarm.ask("weksa", fork).await.unwrap();
    swarm.advance(TimeDelta::minutes(1)).await;
    let answers = json!({"answers": "weksa:question:fork", "choice": "right"});

    let own = vec![ruling("weksa", "own", "mind", &answers)];
    let own = swarm.append(&weksa, own).await.unwrap_err();
    let ruled = vec![ruling("third", "fork", "operator", &answers)];
    let ruled = swarm.rule("third", ruled).await.unwrap();

    assert_eq!(own.code(), Code::PermissionDenied);
    assert_eq!(reason(&own), "BETWEEN_MINDS");
    assert_eq!(ruled.written.len(), 2);
    assert_eq!(ruled.written[1].id, "weksa:question:fork.n1");
    assert!(!swarm.document("weksa:question:fork").await.in_force);
    for mind in ["weksa", "eureka", "third"] {
        assert!(swarm.is_told(mind).await, "{mind}");
    }
}

#[tokio::test]
async fn an_operators_ruling_gives_way_to_no_mind() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let own = vec![ruling("weksa", "own", "mind", &json!({}))];
    swarm.append(&weksa, own).await.unwrap();
    let over = |subject: &str, by: &str| ended(subject, "superseded", &json!({"by": by}));

    let documents = vec![
        ruling("eureka", "given", "operator", &json!({})),
        over("weksa:ruling:own", "eureka:ruling:given"),
    ];
    swarm.rule("eureka", documents).await.unwrap();
    let next = vec![
        ruling("weksa", "next", "mind", &json!({})),
        over("weksa:ruling:next", "weksa:ruling:own"),
    ];
    let next = swarm.append(&weksa, next).await.unwrap_err();
    let foreign = vec![over("eureka:ruling:given", "weksa:ruling:own")];
    let foreign = swarm.append(&weksa, foreign).await.unwrap_err();

    assert!(!swarm.document("weksa:ruling:own").await.in_force);
    assert_eq!(reason(&next), "NOT_IN_FORCE");
    assert_eq!(foreign.code(), Code::PermissionDenied);
    let lead = json!({"names_lead": "weksa", "review_on": "2026-07-01"});
    let lead = vec![ruling("weksa", "swarm-lead", "standing", &lead)];
    let lead = swarm.rule("weksa", lead).await.unwrap_err();
    assert_eq!(lead.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_ruling_among_several_minds_is_looked_at_again() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let alone = vec![ruling("weksa", "alone", "mind", &json!({}))];
    swarm.append(&weksa, alone).await.unwrap();
    assert_eq!(swarm.reviews(false).await, []);

    swarm.open("eureka", 1_000_000).await;
    swarm.advance(TimeDelta::days(1)).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let among = vec![
        ruling("weksa", "among", "mind", &json!({})),
        ruling(
            "weksa",
            "dated",
            "mind",
            &json!({"review_on": "2026-07-01"}),
        ),
    ];
    swarm.append(&weksa, among).await.unwrap();
    let far = json!({"review_on": "2028-07-01"});
    let far = vec![ruling("weksa", "far", "mind", &far)];
    let far = swarm.append(&weksa, far).await.unwrap_err();

    assert_eq!(far.code(), Code::InvalidArgument);
    let on: Vec<(String, String, String)> = swarm
        .reviews(false)
        .await
        .into_iter()
        .map(|one| (one.ruling_id, one.review_on, one.cause))
        .collect();
    let expected = |label: &str, on: &str, cause: &str| {
        (
            format!("weksa:ruling:{label}"),
            on.to_owned(),
            cause.to_owned(),
        )
    };
    assert_eq!(
        on,
        [
            expected("dated", "2026-07-01", "at_write"),
            expected("alone", "2026-08-30", "second_mind"),
            expected("among", "2026-08-31", "at_write"),
        ]
    );
    swarm.advance(TimeDelta::days(30)).await;
    let overdue = swarm.reviews(true).await;
    assert_eq!(overdue.len(), 1);
    assert_eq!(overdue[0].ruling_id, "weksa:ruling:dated");
    let shown = swarm.document("weksa:ruling:dated").await;
    assert!(shown.in_force && shown.review_overdue);
}

#[tokio::test]
async fn a_fence_that_is_over_writes_nothing() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    swarm.advance(TimeDelta::hours(5)).await;

    let late = vec![question("weksa", "late", &[])];
    let late = swarm.append(&weksa, late).await.unwrap_err();

    assert_eq!(late.code(), Code::Aborted);
    assert_eq!(reason(&late), "TURN_LOST");
}
