//! All that a mind may write, and what came of it.

use cambium_proto::swarm::v1::{
    LendShareRequest, ProposeMindRequest, PutPersonaRequest, RequestRetirementRequest, RestRequest,
    SetAgendaRequest, SubmitWorkRequest, Wakes,
};
use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Value, json};
use tonic::Status;

use crate::agenda::stamp;
use crate::fixture::{Fixture, WORKSPACE, request_id};
use crate::record::question;

/// Every kind of thing that a mind may write, each with the organ that may.
pub(super) async fn writes(
    swarm: &Fixture,
    own: &str,
    persona: &str,
) -> Vec<(&'static str, Result<(), Status>)> {
    let (workspace_id, hour) = (WORKSPACE.to_owned(), TimeDelta::hours(1));
    let agenda = SetAgendaRequest {
        workspace_id: workspace_id.clone(),
        request_id: request_id(),
        wakes: Wakes::Work.into(),
        wake_at: None,
    };
    let rest = RestRequest {
        workspace_id: workspace_id.clone(),
        request_id: request_id(),
        until: stamp(swarm.now() + hour),
    };
    let retirement = RequestRetirementRequest {
        workspace_id: workspace_id.clone(),
        request_id: request_id(),
        reason: "Enough.".to_owned(),
    };
    let loan = LendShareRequest {
        workspace_id: workspace_id.clone(),
        request_id: request_id(),
        borrower: "bob".to_owned(),
        share_ppm: 1_000,
        until: stamp(swarm.now() + hour),
    };
    let work = SubmitWorkRequest {
        workspace_id: workspace_id.clone(),
        request_id: request_id(),
        title: "A thing".to_owned(),
        body: "To be done.".to_owned(),
        refs: Vec::new(),
        to: "bob".to_owned(),
    };
    let proposal = ProposeMindRequest {
        workspace_id,
        request_id: request_id(),
        instance: format!("mind-{}", &request_id()[..8]),
        display_name: "Another".to_owned(),
        mission: "To be.".to_owned(),
        target: None,
    };
    let label = format!("q{}", &request_id()[..8]);
    let asked = swarm.append(own, vec![question("ada", &label, &[])]).await;
    vec![
        (
            "agenda",
            swarm.minds_bearing(own).set_agenda(agenda).await.map(drop),
        ),
        ("rest", swarm.minds_bearing(own).rest(rest).await.map(drop)),
        (
            "retirement",
            swarm
                .minds_bearing(own)
                .request_retirement(retirement)
                .await
                .map(drop),
        ),
        (
            "loan",
            swarm.loans_bearing(own).lend_share(loan).await.map(drop),
        ),
        (
            "work",
            swarm.routing_bearing(own).submit_work(work).await.map(drop),
        ),
        (
            "proposal",
            swarm
                .minds_bearing(own)
                .propose_mind(proposal)
                .await
                .map(drop),
        ),
        ("record", asked.map(drop)),
        ("persona", put_persona(swarm, persona).await),
    ]
}

pub(super) async fn put_persona(swarm: &Fixture, token: &str) -> Result<(), Status> {
    let stored = swarm.persona(&swarm.keys.operator(), "ada").await;
    let mut value: Value = serde_json::from_slice(&stored.value_json).unwrap();
    let later = swarm.now() + TimeDelta::seconds(1);
    value["updatedAt"] = json!(later.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    let request = PutPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        value_json: value.to_string(),
        expected_updated_at: stored.update_time,
        faculty: "reflection".to_owned(),
        agent: "ada-self".to_owned(),
        session: "s1".to_owned(),
        tool: "persona".to_owned(),
    };
    swarm
        .personas_bearing(token)
        .put_persona(request)
        .await
        .map(drop)
}

/// All that minds write, as the database has it.
pub(super) async fn written(swarm: &Fixture) -> String {
    let dump = "SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM (
            SELECT to_jsonb(a)::text AS t FROM swarm.agenda a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.loan a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.work a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.mind a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.document a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.persona_version a
            UNION ALL SELECT to_jsonb(a)::text FROM swarm.event a
        ) AS all_rows";
    let dump = sqlx::query_scalar(dump).fetch_one(&swarm.database.owner);
    dump.await.unwrap()
}
