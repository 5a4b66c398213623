//! Work comes, and is wanted no more: by whoever submitted it, or the operator.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::{Action, Facts};
use cambium_swarm::record::ForeignRef;
use cambium_swarm::work::{self, Work};
use cambium_swarm::{Instance, WorkId};
use serde_json::json;

use super::{enter, enter_with_lead, item, put};
use crate::app::record::{citable, open};
use crate::app::{About, App};
use crate::convert;
use crate::convert::record::refs_from_wire;
use crate::convert::routing::work_to_wire;
use crate::error::Error;
use crate::store;
use crate::store::work::Item;

/// What somebody wants done.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    title: String,
    body: String,
    refs: Vec<ForeignRef>,
    to: Option<Instance>,
}

impl Submission {
    pub(crate) fn from_wire(request: &wire::SubmitWorkRequest) -> Result<Self, Error> {
        work::check(&request.title, &request.body)?;
        let to = Some(request.to.as_str()).filter(|to| !to.is_empty());
        Ok(Self {
            title: request.title.clone(),
            body: request.body.clone(),
            refs: refs_from_wire(&request.refs)?,
            to: to.map(|to| Instance::parse_as("to", to)).transpose()?,
        })
    }
}

impl App {
    pub(crate) async fn submit_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        new: &Submission,
    ) -> Result<wire::SubmitWorkResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::SubmitWork, None).await? {
            return Ok(reply);
        }
        let submitted_by = change.author();
        let conn = change.conn();
        let lead = match &new.to {
            Some(to) => {
                enter(conn, workspace, &[to]).await?;
                open(conn, workspace, to).await?;
                None
            }
            None => enter_with_lead(conn, workspace).await?,
        };
        citable(conn, workspace, &new.refs).await?;
        let item = Item {
            id: WorkId::generate(),
            title: new.title.clone(),
            body: new.body.clone(),
            refs: new.refs.clone(),
            work: Work::submitted(new.to.clone(), lead),
            submitted_by,
            submitted_at: store::now(conn).await?,
            returned_by: None,
            done_ref: None,
            offer: None,
        };
        store::work::insert(conn, workspace, &item).await?;
        let reply = wire::SubmitWorkResponse {
            work: Some(work_to_wire(&item)),
        };
        change.finish(reply, about(&item)).await
    }

    pub(crate) async fn withdraw_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        id: WorkId,
    ) -> Result<wire::WithdrawWorkResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let found = item(change.conn(), workspace, id).await?;
        let facts = submitted(&found.submitted_by);
        change.authorize(Action::WithdrawWork, facts).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        enter(conn, workspace, &[]).await?;
        let item = item(conn, workspace, id).await?;
        let next = item.work.clone().withdrawn()?;
        let why = "The work was withdrawn.";
        let item = put(conn, workspace, (item, next), (&signed, why)).await?;
        let reply = wire::WithdrawWorkResponse {
            work: Some(work_to_wire(&item)),
        };
        change.finish(reply, about(&item)).await
    }

    /// By the operator, whoever held it.
    pub(crate) async fn assign_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        (id, to): (WorkId, &Instance),
    ) -> Result<wire::AssignWorkResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::AssignWork, Some(to)).await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        enter(conn, workspace, &[to]).await?;
        open(conn, workspace, to).await?;
        let item = item(conn, workspace, id).await?;
        let next = item.work.clone().assigned(to.clone())?;
        let why = "The operator assigned the work.";
        let item = put(conn, workspace, (item, next), (&signed, why)).await?;
        let reply = wire::AssignWorkResponse {
            work: Some(work_to_wire(&item)),
        };
        change.finish(reply, about(&item)).await
    }
}

/// By whom a piece of work was submitted, as the table of authority knows it.
fn submitted(by: &str) -> Facts {
    let mind = by.strip_prefix("mind:");
    Facts {
        mind: mind.and_then(|name| Instance::parse(name).ok()),
        agent: by.strip_prefix("agent:").map(str::to_owned),
        ..Facts::default()
    }
}

/// What happened to a piece of work, for the audit and whoever watches.
pub(super) fn about(item: &Item) -> About {
    let state = convert::routing::state_to_wire(&item.work.state);
    About {
        instance: item.work.holder().cloned(),
        turn: None,
        body: json!({"work_id": item.id.to_string(), "state": state.as_str_name()}),
    }
}
