//! An operator's reset: every mind begins anew at 0. Bucket, reservations and charges stay.

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use serde_json::json;

use crate::app::timeline::held;
use crate::app::{About, App};
use crate::convert::control::OfSwarm;
use crate::error::Error;
use crate::store::{reset, timeline};

impl App {
    pub(crate) async fn reset_timeline(
        &self,
        call: &Call,
        wish: &OfSwarm<String>,
    ) -> Result<wire::ResetTimelineResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::ResetTimeline, None).await? {
            return Ok(reply);
        }
        let workspace = &wish.workspace;
        let held = held::hold(change.conn(), workspace, None).await?;
        change.news = held.news();
        let mut line = reset::lock(change.conn(), workspace).await?;
        let steps = line.reset();
        reset::write(change.conn(), workspace, line.min_vtime(), &steps).await?;
        for step in &steps {
            timeline::log(change.conn(), workspace, step, None).await?;
        }
        let body = json!({"reason": wish.value, "minds": steps.len()});
        let reply = wire::ResetTimelineResponse {};
        change.finish(reply, About::swarm(body)).await
    }
}
