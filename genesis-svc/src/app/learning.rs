//! What templates have learned: listed, explained, rolled back.

use cambium_genesis::{LearningId, TemplateName};
use cambium_kernel::WorkspaceId;
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::{self, Page};
use crate::error::Error;
use crate::store;
use crate::store::learning::{Learning, State};

/// Confirmations that one reply holds.
const CONFIRMATIONS: i64 = 1_000;

impl App {
    pub(crate) async fn learnings(
        &self,
        workspace: &WorkspaceId,
        template: &TemplateName,
        include_removed: bool,
        page: &Page,
    ) -> Result<wire::ListLearningsResponse, Error> {
        let after = page.after(place)?;
        let mut conn = self.pool.acquire().await?;
        store::template::head(&mut conn, workspace, template).await?;
        let found = store::learning::list(
            &mut conn,
            workspace,
            template,
            include_removed,
            after,
            page.limit(),
        )
        .await?;
        let (learnings, next_page_token) = convert::cut(
            page,
            &found,
            |one| format!("{} {}", one.weighed.voices, one.weighed.id),
            convert::learning_to_wire,
        );
        Ok(wire::ListLearningsResponse {
            learnings,
            next_page_token,
        })
    }

    pub(crate) async fn explain_learning(
        &self,
        workspace: &WorkspaceId,
        id: LearningId,
    ) -> Result<wire::ExplainLearningResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let learning = store::learning::find(&mut conn, workspace, id).await?;
        let confirmations =
            store::confirmation::of(&mut conn, workspace, id, CONFIRMATIONS).await?;
        let (with, without) =
            store::compost::fared(&mut conn, workspace, &learning.template, id.as_uuid()).await?;
        Ok(wire::ExplainLearningResponse {
            learning: Some(convert::learning_to_wire(&learning)),
            confirmations: confirmations
                .iter()
                .map(|one| convert::confirmation_to_wire(&learning, one))
                .collect(),
            with: Some(convert::fared_to_wire(with)),
            without: Some(convert::fared_to_wire(without)),
        })
    }

    #[tracing::instrument(skip_all, fields(learning.id = %id))]
    pub(crate) async fn roll_back_learning(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        id: LearningId,
        reason: &str,
    ) -> Result<wire::RollBackLearningResponse, Error> {
        database::retry_conflicts(3, || self.roll_back_once(call, workspace, id, reason)).await
    }

    async fn roll_back_once(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        id: LearningId,
        reason: &str,
    ) -> Result<wire::RollBackLearningResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        let found = store::learning::find(&mut tx, workspace, id).await?;
        store::template::lock(&mut tx, workspace, &found.template).await?;
        // Read again: a compost may have changed it until it was locked.
        let mut learning = store::learning::find(&mut tx, workspace, id).await?;
        if learning.state == State::Active {
            learning.state = State::RolledBack;
            learning.removed_at = Some(store::now(&mut tx).await?);
            learning.removed_by = call.principal.subject();
            learning.remove_reason = reason.to_owned();
            forget(&mut tx, workspace, &learning).await?;
        }
        let reply = wire::RollBackLearningResponse {
            learning: Some(convert::learning_to_wire(&learning)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }
}

/// From now on nobody is spawned with it.
async fn forget(
    tx: &mut PgConnection,
    workspace: &WorkspaceId,
    learning: &Learning,
) -> Result<(), Error> {
    store::learning::update(tx, workspace, learning).await?;
    let left = store::learning::active(tx, workspace, &learning.template).await?;
    let left = convert::learnings_to_json(&left);
    store::template::set_learnings(tx, workspace, &learning.template, &left).await
}

/// A learning's place in the list: its voices, then its id.
fn place(text: &str) -> Option<(i32, LearningId)> {
    let (voices, id) = text.split_once(' ')?;
    Some((voices.parse().ok()?, id.parse().ok()?))
}
