//! One call of every method of swarm, and several of those in which a mind could reach for what is not its own. Each would be answered
//! if its caller might make it.

mod control;
mod minds;
mod records;
mod routing;
mod timeline;

use cambium_proto::swarm::v1 as wire;

use super::raw::Call;
use crate::fixture::Fixture;

type Ask = (&'static str, Call);

/// A request of the workspace that changes nothing.
macro_rules! looked {
    ($request:ident { $($field:ident: $value:expr),* $(,)? }) => {
        {
            let mut request = wire::$request::default();
            request.workspace_id = WORKSPACE.to_owned();
            $(request.$field = $value;)*
            request
        }
    };
}
use looked;

fn eureka() -> String {
    "eureka".to_owned()
}

fn why() -> String {
    "So it is.".to_owned()
}

/// By weksa, in this order.
pub(super) async fn asks(swarm: &Fixture, token: &str, lead: &str, turn: &wire::Turn) -> Vec<Ask> {
    let mut asks = minds::minds(swarm);
    asks.extend(minds::personas(swarm).await);
    asks.extend(control::control(swarm));
    asks.extend(control::loans(swarm).await);
    asks.extend(timeline::timeline(turn));
    asks.extend(records::records(lead));
    asks.extend(routing::routing(swarm, token).await);
    asks
}
