//! What every change has in common: who asks and whether it may, whether it was done before, and what is remembered of it.
//! Knows no verb: what is changed is the use case's business.

use cambium_kernel::{ErrorKind, Failure as _, WorkspaceId};
use cambium_service_kit::call::Call;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::receipt;
use cambium_swarm::authority::{self, Action, Facts, Permit};
use cambium_swarm::{Instance, SessionId, TurnId};
use chrono::{DateTime, Utc};
use prost::Message;
use serde_json::Value;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store::{self, SCHEMA};

/// A change under way. Dropped before [`Change::finish`], it has changed nothing.
pub(crate) struct Change<'a> {
    app: &'a App,
    call: &'a Call,
    tx: Transaction<'static, Postgres>,
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: authority::Principal,
    /// What else watches are to be told of it.
    pub(crate) news: Vec<store::event::New>,
}

/// What a change was about, for the audit and for whoever watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) instance: Option<Instance>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) body: Value,
}

impl About {
    pub(crate) fn mind(instance: &Instance, body: Value) -> Self {
        Self {
            instance: Some(instance.clone()),
            turn: None,
            body,
        }
    }

    pub(crate) fn swarm(body: Value) -> Self {
        Self {
            body,
            ..Self::default()
        }
    }
}

impl App {
    /// Begins a change in the caller's name.
    pub(crate) async fn begin<'a>(
        &'a self,
        call: &'a Call,
        workspace: &WorkspaceId,
    ) -> Result<Change<'a>, Error> {
        Ok(Change {
            app: self,
            call,
            tx: self.pool.begin().await?,
            workspace: workspace.clone(),
            actor: convert::actor(&call.principal)?,
            news: Vec::new(),
        })
    }

    /// Whether a caller may read; what it may see of it.
    pub(crate) fn may_read(&self, caller: &Principal) -> Result<Permit, Error> {
        let actor = convert::actor(caller)?;
        Ok(authority::decide(&actor, Action::Read, &Facts::default())?)
    }
}

impl App {
    /// Whether an operator may do something that changes nothing here, as a preview does.
    pub(crate) fn may(&self, caller: &Principal, action: Action) -> Result<(), Error> {
        let age = self.clock.now() - caller.issued_at;
        let facts = Facts {
            login_age_s: Some(u64::try_from(age.num_seconds()).unwrap_or(0)),
            ..Facts::default()
        };
        authority::decide(&convert::actor(caller)?, action, &facts)?;
        Ok(())
    }
}

impl Change<'_> {
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        &mut self.tx
    }

    /// The database's time, by which everything is stored. Read it after the locks that it relies on: waiting takes time.
    pub(crate) async fn now(&mut self) -> Result<DateTime<Utc>, Error> {
        store::now(&mut self.tx).await
    }

    /// Lets the caller do it, or says why not; then the reply that it was given before, if it was. `mind` is whose thing it is.
    pub(crate) async fn admit<R: Message + Default>(
        &mut self,
        action: Action,
        mind: Option<&Instance>,
    ) -> Result<Option<R>, Error> {
        let facts = Facts {
            mind: mind.cloned(),
            ..Facts::default()
        };
        self.authorize(action, facts).await?;
        self.replied().await
    }

    /// Decides with what the caller cannot say of itself: how old its login is, and whether it leads.
    pub(crate) async fn authorize(&mut self, action: Action, facts: Facts) -> Result<(), Error> {
        let facts = self.complete(facts).await?;
        if let Err(denial) = authority::decide(&self.actor, action, &facts) {
            let denial = Error::from(denial);
            self.tell_refusal(action, &facts, &denial).await?;
            return Err(denial);
        }
        self.fence().await
    }

    async fn complete(&mut self, facts: Facts) -> Result<Facts, Error> {
        let age = self.app.clock.now() - self.call.principal.issued_at;
        let leads = match &self.actor {
            authority::Principal::Mind(mind, _) => {
                store::lead::current(&mut self.tx, &self.workspace)
                    .await?
                    .as_ref()
                    == Some(mind)
            }
            _ => false,
        };
        Ok(Facts {
            is_lead: leads,
            login_age_s: Some(u64::try_from(age.num_seconds()).unwrap_or(0)),
            ..facts
        })
    }

    /// A mind writes while its turn or session lives, and keeps it from ending until this is committed.
    async fn fence(&mut self) -> Result<(), Error> {
        let authority::Principal::Mind(mind, _) = &self.actor else {
            return Ok(());
        };
        let fence = self.call.principal.fence.as_ref();
        let turn: Option<TurnId> = fence
            .and_then(|fence| fence.turn_id.as_deref())
            .and_then(|id| id.parse().ok());
        let session: Option<SessionId> = fence
            .and_then(|fence| fence.session_id.as_deref())
            .and_then(|id| id.parse().ok());
        let lives = match (turn, session) {
            (Some(turn), _) => {
                store::turn::fence(&mut self.tx, &self.workspace, mind, turn).await?
            }
            (None, Some(session)) => {
                store::session::fence(&mut self.tx, &self.workspace, mind, session).await?
            }
            (None, None) => false,
        };
        if lives {
            Ok(())
        } else {
            Err(cambium_swarm::Error::TurnLost.into())
        }
    }

    /// The turn and the session that the caller's token names.
    pub(crate) fn fences(&self) -> (Option<TurnId>, Option<SessionId>) {
        let fence = self.call.principal.fence.as_ref();
        let turn = fence.and_then(|fence| fence.turn_id.as_deref()?.parse().ok());
        let session = fence.and_then(|fence| fence.session_id.as_deref()?.parse().ok());
        (turn, session)
    }

    /// Kind and name of the caller, as in `operator:ada`.
    pub(crate) fn author(&self) -> String {
        self.call.principal.subject()
    }

    pub(crate) async fn replied<R: Message + Default>(&mut self) -> Result<Option<R>, Error> {
        Ok(receipt::find(&mut self.tx, SCHEMA, self.call, &self.workspace).await?)
    }

    /// Keeps the reply, tells of the change, and commits.
    pub(crate) async fn finish<R: Message>(mut self, reply: R, about: About) -> Result<R, Error> {
        let workspace = self.workspace.clone();
        receipt::insert(&mut self.tx, SCHEMA, self.call, &workspace, &reply).await?;
        let entry = store::audit::Entry {
            actor: self.author(),
            action: self.verb().to_owned(),
            instance: about.instance.clone(),
            turn: about.turn,
            refusal: None,
            body: about.body.clone(),
        };
        store::audit::insert(&mut self.tx, &workspace, &entry).await?;
        let event = store::event::New {
            kind: store::event::Kind::Control,
            instance: about.instance,
            turn: about.turn,
            body: serde_json::json!({"action": self.verb(), "value": about.body}),
        };
        for event in std::mem::take(&mut self.news).into_iter().chain([event]) {
            store::event::insert(&mut self.tx, &workspace, event).await?;
        }
        self.tx.commit().await?;
        Ok(reply)
    }

    /// The RPC's name.
    fn verb(&self) -> &'static str {
        let method: &'static str = self.call.method;
        method.rsplit('/').next().unwrap_or(method)
    }

    /// A refusal is written down although nothing else is.
    pub(crate) async fn tell_refusal(
        &self,
        action: Action,
        facts: &Facts,
        denial: &Error,
    ) -> Result<(), Error> {
        if !matches!(
            denial.kind(),
            ErrorKind::Denied | ErrorKind::Unauthenticated
        ) {
            return Ok(());
        }
        let mut conn = self.app.pool.acquire().await?;
        let entry = store::audit::Entry {
            actor: self.author(),
            action: action.as_str().to_owned(),
            instance: facts.mind.clone(),
            turn: None,
            refusal: Some(denial.reason()),
            body: Value::Null,
        };
        store::audit::insert(&mut conn, &self.workspace, &entry).await
    }
}
