//! What its holder does with a piece of work: give it back, or finish it.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::{Action, Facts};
use cambium_swarm::{Instance, WorkId, text};
use serde_json::{Value, json};

use super::submit::about;
use super::{enter, enter_with_lead, item, put};
use crate::app::{App, Change};
use crate::convert;
use crate::convert::routing::work_to_wire;
use crate::error::Error;

impl App {
    /// It is the lead's again; from the lead it waits for the operator.
    pub(crate) async fn return_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        (id, reason): (WorkId, &str),
    ) -> Result<wire::ReturnWorkResponse, Error> {
        text::para(reason).map_err(|why| Error::field("reason", why.to_string()))?;
        let mut change = self.begin(call, workspace).await?;
        let mind = held(&mut change, Action::ReturnWork, id).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        let lead = enter_with_lead(conn, workspace).await?;
        let mut item = item(conn, workspace, id).await?;
        let next = item.work.clone().returned(&mind, lead.as_ref())?;
        item.returned_by = Some(mind.to_string());
        let item = put(conn, workspace, (item, next), (&signed, reason)).await?;
        let mut about = about(&item);
        if let Value::Object(body) = &mut about.body {
            body.insert("returned_by".to_owned(), json!(mind.as_str()));
            body.insert("reason".to_owned(), json!(reason));
        }
        let reply = wire::ReturnWorkResponse {
            work: Some(work_to_wire(&item)),
        };
        change.finish(reply, about).await
    }

    pub(crate) async fn complete_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        (id, result): (WorkId, &str),
    ) -> Result<wire::CompleteWorkResponse, Error> {
        let result = Some(result).filter(|result| !result.is_empty());
        if let Some(Err(why)) = result.map(text::line) {
            return Err(Error::field("result_ref", why.to_string()));
        }
        let mut change = self.begin(call, workspace).await?;
        let mind = held(&mut change, Action::CompleteWork, id).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        enter(conn, workspace, &[]).await?;
        let mut item = item(conn, workspace, id).await?;
        let next = item.work.clone().completed(&mind)?;
        item.done_ref = result.map(str::to_owned);
        let why = "The work is done.";
        let item = put(conn, workspace, (item, next), (&signed, why)).await?;
        let reply = wire::CompleteWorkResponse {
            work: Some(work_to_wire(&item)),
        };
        change.finish(reply, about(&item)).await
    }
}

/// Lets the caller do what only the holder of a piece of work may. What nobody holds is the rules' to refuse.
pub(super) async fn held(
    change: &mut Change<'_>,
    action: Action,
    id: WorkId,
) -> Result<Instance, Error> {
    let mind = convert::own(&change.actor)?;
    let workspace = change.workspace.clone();
    let found = item(change.conn(), &workspace, id).await?;
    let facts = Facts {
        mind: Some(found.work.holder().unwrap_or(&mind).clone()),
        ..Facts::default()
    };
    change.authorize(action, facts).await?;
    Ok(mind)
}
