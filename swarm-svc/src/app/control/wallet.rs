//! The wallet: a hard limit for a period, or none.

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::wallet::{Limit, Wallet};
use cambium_swarm::warning;
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::app::{About, App};
use crate::convert::control::{self as wired, Held, OfSwarm};
use crate::error::Error;
use crate::store::setting::{self, Set};

impl App {
    /// What the period has cost already counts against the new limit at once.
    pub(crate) async fn set_wallet(
        &self,
        call: &Call,
        wish: &OfSwarm<Option<Wallet>>,
    ) -> Result<wire::SetWalletResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::SetWallet, None).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        let workspace = &wish.workspace;
        let now = change.now().await?;
        let set = wish.value.map(|value| Set {
            value,
            at: now,
            by: change.author(),
        });
        match &set {
            Some(set) => setting::put_wallet(change.conn(), workspace, set).await?,
            None => setting::delete_wallet(change.conn(), workspace).await?,
        }
        let limit = setting::limit(change.conn(), workspace).await?;
        let dial = setting::dial(change.conn(), workspace).await?;
        let warnings = warning::of_wallet(dial.as_ref(), &limit);
        let body = json!({
            "limit_micro_usd": wish.value.map(|wallet| wallet.limit.as_micros()),
            "period": wish.value.map(|wallet| wallet.period.as_str()),
        });
        let reply = wire::SetWalletResponse {
            wallet: shown(set.as_ref(), &limit, now),
            warnings: wired::warnings_to_wire(warnings),
        };
        change.finish(reply, About::swarm(body)).await
    }
}

/// A wallet with what its period has cost and holds.
pub(super) fn shown(
    set: Option<&Set<Wallet>>,
    limit: &Limit,
    now: DateTime<Utc>,
) -> Option<wire::Wallet> {
    let (Some(set), Limit::Of(_, spending)) = (set, limit) else {
        return None;
    };
    let held = Held {
        set,
        spending: *spending,
        now,
    };
    Some(wired::wallet_to_wire(&held))
}
