//! An operator's own work with a mind: opened, prolonged, closed. One that nobody closes ends by itself, and the tick sees it.
//! Stops no live turn, its mind's own neither (design: swarm, section 6).

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::session::Session;
use cambium_swarm::{Instance, SessionId};
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::app::{About, App, Change};
use crate::convert::control::{self as wired, OfMind, OfSession, Operate};
use crate::convert::instant;
use crate::error::Error;
use crate::store::session::{self, Kept};

impl App {
    /// With `preempt` no turn of any mind starts once this has replied.
    pub(crate) async fn operate_mind(
        &self,
        call: &Call,
        wish: &OfMind<Operate>,
    ) -> Result<wire::OperateMindResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let mind = &wish.instance;
        if let Some(reply) = change.admit(Action::OperateMind, Some(mind)).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        change.touch(&[mind]).await?;
        let known = change.open_mind(mind).await?;
        let now = change.now().await?;
        change.close_lapsed(mind, now).await?;
        let Operate { preempts, ttl_s } = wish.value;
        let id = SessionId::generate();
        let kept = Kept {
            session: Session::open(id, (mind, known.state), preempts, ttl_s, now)?,
            opened_by: change.author(),
        };
        session::insert(change.conn(), &wish.workspace, &kept).await?;
        let reply = wire::OperateMindResponse {
            session: Some(wired::session_to_wire(&kept)),
        };
        change.finish(reply, about(&kept.session)).await
    }

    pub(crate) async fn extend_session(
        &self,
        call: &Call,
        wish: &OfSession<i64>,
    ) -> Result<wire::ExtendSessionResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::OperateMind, None).await? {
            return Ok(reply);
        }
        let kept = change.lock_session(wish.id).await?;
        let now = change.now().await?;
        let kept = Kept {
            session: kept.session.extended(wish.value, now)?,
            ..kept
        };
        session::update(change.conn(), &wish.workspace, &kept.session).await?;
        let reply = wire::ExtendSessionResponse {
            session: Some(wired::session_to_wire(&kept)),
        };
        change.finish(reply, about(&kept.session)).await
    }

    /// What is being written under it is committed first; afterwards nothing is.
    pub(crate) async fn close_session(
        &self,
        call: &Call,
        wish: &OfSession<()>,
    ) -> Result<wire::CloseSessionResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::OperateMind, None).await? {
            return Ok(reply);
        }
        let kept = change.lock_session(wish.id).await?;
        let now = change.now().await?;
        let kept = Kept {
            session: kept.session.closed(now),
            ..kept
        };
        session::update(change.conn(), &wish.workspace, &kept.session).await?;
        let reply = wire::CloseSessionResponse {
            session: Some(wired::session_to_wire(&kept)),
        };
        change.finish(reply, about(&kept.session)).await
    }
}

impl Change<'_> {
    /// A session, locked, and its mind touched. A session is locked before launches, as a turn is: whoever writes under it does so.
    async fn lock_session(&mut self, id: SessionId) -> Result<Kept, Error> {
        let workspace = self.workspace.clone();
        self.lock_schedule().await?;
        let kept = session::lock(self.conn(), &workspace, id).await?;
        let kept = kept.ok_or(Error::NoSession(id))?;
        self.touch(&[&kept.session.instance]).await?;
        Ok(kept)
    }

    /// Closes what ended by itself. A mind has one open session at most.
    async fn close_lapsed(&mut self, mind: &Instance, now: DateTime<Utc>) -> Result<(), Error> {
        let workspace = self.workspace.clone();
        for kept in session::unclosed(self.conn(), &workspace, Some(mind)).await? {
            if kept.session.is_open(now) {
                return Err(Error::SessionOpen);
            }
            session::update(self.conn(), &workspace, &kept.session.closed(now)).await?;
        }
        Ok(())
    }
}

fn about(session: &Session) -> About {
    let body = json!({
        "session_id": session.id.to_string(),
        "preempt": session.is_preempting,
        "until": instant(session.until),
        "closed_at": session.closed_at.map(instant),
    });
    About::mind(&session.instance, body)
}
