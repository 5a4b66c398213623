//! What a mind decides for itself: what wakes it, when it rests, that it would leave. And what carries its turns, which is its
//! operator's to say. The launch row is locked first: a settlement writes the agenda too, and a launch reads the target.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::member::{Agenda, Wakes};
use cambium_swarm::target::Target;
use chrono::{DateTime, Utc};
use prost::Message;
use serde_json::{Value, json};

use super::look;
use crate::app::{About, App};
use crate::convert;
use crate::error::Error;
use crate::store::launch::{Reason, touch};
use crate::store::mind::{self, Mind};

/// One of a mind's own decisions.
enum Wish<'a> {
    Set(Option<Wakes>, Option<DateTime<Utc>>),
    Rest(Option<DateTime<Utc>>),
    EndRest,
    Leave(&'a str),
    Stay,
}

impl Wish<'_> {
    const fn action(&self) -> Action {
        match self {
            Self::Set(..) => Action::SetAgenda,
            Self::Rest(_) | Self::EndRest => Action::Rest,
            Self::Leave(_) | Self::Stay => Action::RequestRetirement,
        }
    }

    fn made(&self, agenda: Agenda, now: DateTime<Utc>) -> Result<Agenda, Error> {
        Ok(match self {
            Self::Set(wakes, wake_at) => agenda.set(*wakes, *wake_at),
            Self::Rest(until) => agenda.resting(*until, now)?,
            Self::EndRest => agenda.rested(),
            Self::Leave(reason) => {
                convert::para("reason", reason)?;
                agenda.asking(now)
            }
            Self::Stay => agenda.staying(),
        })
    }

    /// What stands beside the flag of a mind that would leave.
    const fn reason(&self) -> Option<&str> {
        match self {
            Self::Leave(reason) => Some(*reason),
            Self::Stay => Some(""),
            Self::Set(..) | Self::Rest(_) | Self::EndRest => None,
        }
    }

    fn told(&self) -> Value {
        match self {
            Self::Set(wakes, wake_at) => {
                json!({"wakes": wakes.map(Wakes::as_str), "wake_at": wake_at.map(|at| at.to_rfc3339())})
            }
            Self::Rest(until) => json!({"until": until.map(|at| at.to_rfc3339())}),
            Self::Leave(reason) => json!({"reason": reason}),
            Self::EndRest | Self::Stay => Value::Null,
        }
    }
}

impl App {
    pub(crate) async fn set_agenda(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wakes: Option<Wakes>,
        wake_at: Option<DateTime<Utc>>,
    ) -> Result<wire::SetAgendaResponse, Error> {
        let wish = Wish::Set(wakes, wake_at);
        let reply = |mind| wire::SetAgendaResponse { mind: Some(mind) };
        self.decide(call, workspace, wish, reply).await
    }

    pub(crate) async fn rest(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        until: Option<DateTime<Utc>>,
    ) -> Result<wire::RestResponse, Error> {
        let reply = |mind| wire::RestResponse { mind: Some(mind) };
        self.decide(call, workspace, Wish::Rest(until), reply).await
    }

    pub(crate) async fn end_rest(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
    ) -> Result<wire::EndRestResponse, Error> {
        let reply = |mind| wire::EndRestResponse { mind: Some(mind) };
        self.decide(call, workspace, Wish::EndRest, reply).await
    }

    pub(crate) async fn request_retirement(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        reason: &str,
    ) -> Result<wire::RequestRetirementResponse, Error> {
        let reply = |mind| wire::RequestRetirementResponse { mind: Some(mind) };
        self.decide(call, workspace, Wish::Leave(reason), reply)
            .await
    }

    pub(crate) async fn withdraw_request(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
    ) -> Result<wire::WithdrawRequestResponse, Error> {
        let reply = |mind| wire::WithdrawRequestResponse { mind: Some(mind) };
        self.decide(call, workspace, Wish::Stay, reply).await
    }

    /// A mind decides something about itself: nobody else's agenda is within its reach.
    async fn decide<R: Message + Default>(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: Wish<'_>,
        reply: impl FnOnce(wire::Mind) -> R,
    ) -> Result<R, Error> {
        let mut change = self.begin(call, workspace).await?;
        let own = convert::own(&change.actor)?;
        if let Some(reply) = change.admit(wish.action(), Some(&own)).await? {
            return Ok(reply);
        }
        touch(change.conn(), workspace, &[&own], Reason::None).await?;
        mind::lock_open(change.conn(), workspace, &own).await?;
        let now = change.now().await?;
        let agenda = mind::agenda(change.conn(), workspace, &own).await?;
        let next = wish.made(agenda, now)?;
        mind::put_agenda(change.conn(), workspace, &own, &next, wish.reason()).await?;
        let mind = look(change.conn(), workspace, &own).await?;
        change
            .finish(reply(mind), About::mind(&own, wish.told()))
            .await
    }

    /// What carries a mind's turns from its next launch on.
    pub(crate) async fn set_target(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        instance: &Instance,
        target: Option<Target>,
    ) -> Result<wire::SetTargetResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::OpenMind, Some(instance)).await? {
            return Ok(reply);
        }
        let target = target.ok_or_else(|| Error::field("target", "is missing"))?;
        touch(change.conn(), workspace, &[instance], Reason::None).await?;
        let known = mind::lock_open(change.conn(), workspace, instance).await?;
        let about = About::mind(instance, target.to_value());
        let aimed = Mind {
            target: Some(target),
            ..known
        };
        mind::put(change.conn(), workspace, &aimed).await?;
        let mind = Some(look(change.conn(), workspace, instance).await?);
        change.finish(wire::SetTargetResponse { mind }, about).await
    }
}
