//! How agents stand, why, and an operator's word on it.

use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use sqlx::PgConnection;

use super::book::{Book, Why};
use super::shown::{Shown, shown};
use super::{ATTEMPTS, App};
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::standing::{After, Filter, Sort};
use cambium_service_kit::page::Page;

/// How somebody names an agent.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Id(AgentId),
    Name(String),
}

impl App {
    pub(crate) async fn standing(
        &self,
        workspace: &WorkspaceId,
        which: &Which,
    ) -> Result<Shown, Error> {
        let mut conn = self.pool.acquire().await?;
        find(&mut conn, workspace, which).await
    }

    /// Reads one more than the page holds: whether it is there says whether the list goes on.
    pub(crate) async fn standings(
        &self,
        workspace: &WorkspaceId,
        sort: (Sort, bool),
        filter: Filter,
        page: &Page<After>,
    ) -> Result<wire::ListStandingsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let threshold = store::policy::of(&mut conn, workspace)
            .await?
            .hoarding_threshold;
        let found = store::standing::list(
            &mut conn,
            workspace,
            sort,
            (filter, threshold),
            page.after,
            page.size + 1,
        )
        .await?;
        let cursors: Vec<After> = found
            .iter()
            .map(|(score, key, _)| After {
                score: *score,
                agent: key.agent.as_uuid(),
            })
            .collect();
        let accounts = found
            .into_iter()
            .map(|(_, key, account)| (key, account))
            .collect();
        let standings = shown(&mut conn, accounts).await?;
        let wire = standings.iter().map(convert::standing_to_wire);
        let (standings, next_page_token) = page.cut(wire, &cursors);
        Ok(wire::ListStandingsResponse {
            standings,
            next_page_token,
        })
    }

    /// The page of the ledger that moved one score, or all.
    pub(crate) async fn explain(
        &self,
        workspace: &WorkspaceId,
        which: &Which,
        page: &Page<[i64; 3]>,
        wanted: [bool; 3],
    ) -> Result<wire::ExplainStandingResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let standing = find(&mut conn, workspace, which).await?;
        let begin = page.after.unwrap_or([i64::MAX; 3]);
        let below: [i64; 3] = std::array::from_fn(|n| if wanted[n] { begin[n] } else { 0 });
        let steps = store::ledger::page(&mut conn, &standing.key, below, page.size + 1).await?;
        let mut cursor = below;
        let cursors: Vec<[i64; 3]> = steps
            .iter()
            .map(|step| {
                let place = store::ledger::code(step.entry.kind) - 1;
                cursor[usize::try_from(place).unwrap_or(0)] = step.entry.seq;
                cursor
            })
            .collect();
        let wire = steps.iter().map(convert::step_to_wire);
        let (entries, next_page_token) = page.cut(wire, &cursors);
        Ok(wire::ExplainStandingResponse {
            standing: Some(convert::standing_to_wire(&standing)),
            entries,
            next_page_token,
        })
    }

    /// Moves trust by so many millionths because an operator says so.
    pub(crate) async fn adjust(
        &self,
        call: &Call,
        key: &Key,
        delta: i32,
        reason: &str,
    ) -> Result<wire::AdjustTrustResponse, Error> {
        let reply =
            database::retry_conflicts(ATTEMPTS, || self.adjust_once(call, key, delta, reason))
                .await?;
        self.relay.notify();
        Ok(reply)
    }

    async fn adjust_once(
        &self,
        call: &Call,
        key: &Key,
        delta: i32,
        reason: &str,
    ) -> Result<wire::AdjustTrustResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &key.workspace).await? {
            return Ok(reply);
        }
        let mut book = Book::open_one(&mut tx, key).await?;
        let now = book.now;
        let account = book
            .change(key, 0)
            .ok_or_else(|| Error::NoAgent(key.agent.to_string()))?;
        if account.closed_at.is_some() {
            return Err(Error::Retired(key.agent.to_string()));
        }
        let entries = account.standing.adjust(delta, now);
        let said = format!("{}: {reason}", call.principal.subject());
        let why = Why::here(format!("adjustment:{}", call.request_id), &said, now);
        book.write(key, entries, &why);
        book.save(&mut tx, &self.routes).await?;
        let standing = find(&mut tx, &key.workspace, &Which::Id(key.agent)).await?;
        let reply = wire::AdjustTrustResponse {
            standing: Some(convert::standing_to_wire(&standing)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, &key.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }
}

async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    which: &Which,
) -> Result<Shown, Error> {
    let (found, called) = match which {
        Which::Id(agent) => {
            let key = Key {
                workspace: workspace.clone(),
                agent: *agent,
            };
            let account = store::standing::by_key(conn, &key).await?;
            (account.map(|account| (key, account)), agent.to_string())
        }
        Which::Name(name) => (
            store::standing::by_name(conn, workspace, name).await?,
            name.clone(),
        ),
    };
    let mut all = shown(conn, found.into_iter().collect()).await?;
    all.pop().ok_or(Error::NoAgent(called))
}
