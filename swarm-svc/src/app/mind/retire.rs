//! The end of a mind: refused while it has something to put down, all of which is named at once. Its record and persona stay, to be
//! read and cited for ever.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::mind::{State, retire};
use cambium_swarm::{Instance, LoanId};
use serde_json::json;
use sqlx::PgConnection;

use super::look;
use crate::app::{About, App, record};
use crate::convert;
use crate::error::Error;
use crate::store::launch::{self, Reason};
use crate::store::mind::{self, Mind};
use crate::store::{self, loan, share, timeline};

impl App {
    pub(crate) async fn retire_mind(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        instance: &Instance,
        reason: &str,
    ) -> Result<wire::RetireMindResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::RetireMind, Some(instance)).await? {
            return Ok(reply);
        }
        convert::para("reason", reason)?;
        touch_all(change.conn(), workspace, instance).await?;
        let known = mind::lock(change.conn(), workspace, instance).await?;
        let known = known.ok_or(cambium_swarm::Error::NoMind)?;
        let state = match known.state {
            State::Retired => State::Retired,
            state => retire(
                state,
                &record::ties(change.conn(), workspace, instance).await?,
            )?,
        };
        if state != known.state {
            let retired = Mind {
                state,
                reason: reason.to_owned(),
                closed_at: Some(change.now().await?),
                ..known
            };
            let by = change.author();
            leave(change.conn(), workspace, &retired, &by).await?;
        }
        let mind = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(instance, json!({"reason": reason}));
        change
            .finish(wire::RetireMindResponse { mind }, about)
            .await
    }
}

/// Locks the launch rows of a mind and of all with whom it has loans: those change their shares by its going.
pub(crate) async fn touch_all(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<(), Error> {
    let loans = loan::active(conn, workspace, Some(&[instance.to_string()])).await?;
    let parties = loans
        .iter()
        .flat_map(|loan| [&loan.lender, &loan.borrower])
        .chain([instance]);
    let parties: Vec<&Instance> = parties.collect();
    launch::touch(conn, workspace, &parties, Reason::None).await
}

/// Takes a mind off the timeline for good: no share, no loan, no row.
pub(crate) async fn leave(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Mind,
    by: &str,
) -> Result<(), Error> {
    let instance = &mind.instance;
    share::delete(conn, workspace, instance).await?;
    // A loan may have come before the rows were locked: its other party changes too.
    touch_all(conn, workspace, instance).await?;
    let loans = loan::active(conn, workspace, Some(&[instance.to_string()])).await?;
    let loans: Vec<LoanId> = loans.iter().map(|loan| loan.id).collect();
    let now = store::now(conn).await?;
    loan::end(conn, workspace, &loans, now, by).await?;
    mind::put(conn, workspace, mind).await?;
    timeline::delete(conn, workspace, instance).await?;
    launch::set_due(conn, workspace, &[(instance.clone(), None)]).await
}
