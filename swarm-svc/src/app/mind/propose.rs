//! Names before a birth: proposed by anybody, declined by the operator. Opens nothing.

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::mind::{Profile, State};
use cambium_swarm::target::Target;
use serde_json::json;

use super::look;
use crate::app::{About, App};
use crate::convert;
use crate::error::Error;
use crate::store::mind::{self, Mind};

/// A mind that somebody would have.
pub(crate) struct Proposal {
    pub(crate) instance: Instance,
    pub(crate) display_name: String,
    pub(crate) mission: String,
    pub(crate) target: Option<Target>,
}

impl App {
    /// Reserves a name that is free.
    pub(crate) async fn propose_mind(
        &self,
        call: &Call,
        workspace: &cambium_kernel::WorkspaceId,
        proposal: &Proposal,
    ) -> Result<wire::ProposeMindResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let instance = &proposal.instance;
        if let Some(reply) = change.admit(Action::ProposeMind, Some(instance)).await? {
            return Ok(reply);
        }
        let profile = Profile {
            display_name: &proposal.display_name,
            mission: &proposal.mission,
            host: None,
        };
        profile.check()?;
        mind::lock_names(change.conn(), workspace).await?;
        let known = mind::find(change.conn(), workspace, instance).await?;
        let state = State::propose(known.map(|mind| mind.state))?;
        let proposed = Mind {
            instance: instance.clone(),
            display_name: proposal.display_name.clone(),
            mission: proposal.mission.clone(),
            host: None,
            state,
            target: proposal.target.clone(),
            proposed_by: change.author(),
            reason: String::new(),
            opened_at: None,
            closed_at: None,
            moved_to: None,
        };
        mind::put(change.conn(), workspace, &proposed).await?;
        let mind = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(instance, json!({"display_name": proposal.display_name}));
        change
            .finish(wire::ProposeMindResponse { mind }, about)
            .await
    }

    /// Frees a name that was only proposed. Doing so again changes nothing.
    pub(crate) async fn decline_mind(
        &self,
        call: &Call,
        workspace: &cambium_kernel::WorkspaceId,
        instance: &Instance,
        reason: &str,
    ) -> Result<wire::DeclineMindResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::OpenMind, Some(instance)).await? {
            return Ok(reply);
        }
        convert::para("reason", reason)?;
        mind::lock_names(change.conn(), workspace).await?;
        let known = mind::find(change.conn(), workspace, instance).await?;
        let known = known.ok_or(cambium_swarm::Error::NoMind)?;
        let state = known.state.decline()?;
        if state != known.state {
            let declined = Mind {
                state,
                reason: reason.to_owned(),
                ..known
            };
            mind::put(change.conn(), workspace, &declined).await?;
        }
        let mind = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(instance, json!({"reason": reason}));
        change
            .finish(wire::DeclineMindResponse { mind }, about)
            .await
    }
}
