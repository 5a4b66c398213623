//! The brake: holding it is always easy, releasing it wakes a mind (design: swarm, section 5).
//! Stops no run itself: whoever starts and carries turns looks at the brakes, and is told of the change at once.

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::member::Brake;
use serde_json::json;

use crate::app::{About, App, Change};
use crate::convert::control::{self as wired, Hold, OfMind, OfSwarm};
use crate::error::Error;
use crate::store;

impl App {
    /// Holds one mind or every mind. A launch reads the brake last, under its lock: once this has replied none of theirs starts. It
    /// reads as little as it can, so that nothing that is broken elsewhere keeps an operator from stopping a mind.
    pub(crate) async fn hold_brake(
        &self,
        call: &Call,
        wish: &OfSwarm<Hold>,
    ) -> Result<wire::HoldBrakeResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let named = wish.value.instance.as_ref();
        if let Some(reply) = change.admit(Action::HoldBrake, named).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        let minds = change.touch_held(named).await?;
        let (reason, author) = (&wish.value.reason, change.author());
        let workspace = &wish.workspace;
        let held = store::brake::hold(change.conn(), workspace, &minds, reason, &author).await?;
        let brakes = store::brake::list(change.conn(), workspace, Some(&minds)).await?;
        let reply = wire::HoldBrakeResponse {
            brakes: brakes.into_iter().map(wired::brake_to_wire).collect(),
        };
        let about = About {
            instance: named.cloned(),
            turn: None,
            body: json!({"reason": reason, "held": held}),
        };
        change.finish(reply, about).await
    }

    /// Wakes a mind, and ends its rest.
    pub(crate) async fn release_brake(
        &self,
        call: &Call,
        wish: &OfMind<()>,
    ) -> Result<wire::ReleaseBrakeResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let mind = &wish.instance;
        if let Some(reply) = change.admit(Action::ReleaseBrake, Some(mind)).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        change.touch(&[mind]).await?;
        let known = change.open_mind(mind).await?;
        match known.state.release(known.target.is_some())? {
            Brake::Released => {}
            Brake::Held => return Err(cambium_swarm::Error::NoTarget.into()),
        }
        let (workspace, author) = (&wish.workspace, change.author());
        store::brake::release(change.conn(), workspace, mind, &author).await?;
        change.end_rest(mind).await?;
        let own = std::slice::from_ref(mind);
        let brakes = store::brake::list(change.conn(), workspace, Some(own)).await?;
        let reply = wire::ReleaseBrakeResponse {
            brake: brakes.into_iter().next().map(wired::brake_to_wire),
        };
        change.finish(reply, About::mind(mind, json!({}))).await
    }
}

impl Change<'_> {
    /// Touches whom to hold: the named one, or all that are open.
    async fn touch_held(&mut self, named: Option<&Instance>) -> Result<Vec<Instance>, Error> {
        if let Some(mind) = named {
            self.touch(&[mind]).await?;
            self.open_mind(mind).await?;
            return Ok(vec![mind.clone()]);
        }
        let workspace = self.workspace.clone();
        let open = store::brake::open_minds(self.conn(), &workspace).await?;
        self.touch(&open.iter().collect::<Vec<_>>()).await?;
        // Others may have been opened while these were waited for.
        store::brake::open_minds(self.conn(), &workspace).await
    }

    async fn end_rest(&mut self, mind: &Instance) -> Result<(), Error> {
        let workspace = self.workspace.clone();
        let agenda = store::mind::agenda(self.conn(), &workspace, mind).await?;
        if agenda.rest_until.is_none() {
            return Ok(());
        }
        let rested = agenda.rested();
        store::mind::put_agenda(self.conn(), &workspace, mind, &rested, None).await
    }
}
