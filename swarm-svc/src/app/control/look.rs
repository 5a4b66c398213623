//! What an operator has set, all of it, and what there is to know of it. Changes nothing.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_swarm::loan::{self, Loan};
use cambium_swarm::{dial::Dial, wallet::Limit, warning};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{wallet, warn};
use crate::app::App;
use crate::convert::control as wired;
use crate::convert::loan::loan_to_wire;
use crate::error::Error;
use crate::store::{self, setting};

impl App {
    pub(crate) async fn control(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<wire::GetControlResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let conn = &mut *conn;
        let dial = setting::dial_set(conn, workspace).await?;
        let wallet = setting::wallet_set(conn, workspace).await?;
        let limit = setting::limit(conn, workspace).await?;
        let shares = store::share::list(conn, workspace).await?;
        let brakes = store::brake::list(conn, workspace, None).await?;
        let sessions = store::session::unclosed(conn, workspace, None).await?;
        let now = store::now(conn).await?;
        let kept = store::loan::list(conn, workspace, Some(now), None, i64::MAX).await?;
        let loans: Vec<Loan> = kept.iter().map(|kept| kept.loan.clone()).collect();
        let shares = shares.iter().map(|set| {
            let effective = loan::effective(set.share, &loans, &set.instance, now);
            wired::share_to_wire(set, effective, now)
        });
        let dialled = dial.as_ref().map(|set| &set.value);
        let warnings = warnings(conn, workspace, dialled, &limit, now).await?;
        let open = sessions.iter().filter(|kept| kept.session.is_open(now));
        Ok(wire::GetControlResponse {
            shares: shares.collect(),
            loans: kept.iter().map(|kept| loan_to_wire(kept, now)).collect(),
            dial: dial.as_ref().map(wired::dial_to_wire),
            wallet: wallet::shown(wallet.as_ref(), &limit, now),
            brakes: brakes.into_iter().map(wired::brake_to_wire).collect(),
            sessions: open.map(wired::session_to_wire).collect(),
            warnings: wired::warnings_to_wire(warnings),
        })
    }
}

async fn warnings(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    dial: Option<&Dial>,
    limit: &Limit,
    now: DateTime<Utc>,
) -> Result<Vec<warning::Warning>, Error> {
    let mut warnings = warn::of_shares(conn, workspace, dial, now).await?;
    warnings.extend(dial.and_then(warning::of_burst));
    warnings.extend(warning::of_wallet(dial, limit));
    warnings.extend(warn::of_reviews(conn, workspace, now).await?);
    Ok(warnings)
}
