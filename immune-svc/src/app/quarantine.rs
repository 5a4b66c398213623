//! Quarantine at an operator's word, and its end: by a release, or by itself.

use cambium_kernel::WorkspaceId;
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::book::{Book, Term, Why};
use super::firing::over_cap;
use super::{ATTEMPTS, App};
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::quarantine::Quarantine;
use crate::store::standing::Stay;
use cambium_service_kit::page::Page;

/// An operator's wish to take an agent out, or to keep it out for longer.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) key: Key,
    pub(crate) reason: String,
    pub(crate) length: Option<TimeDelta>,
    /// Whatever the caps say.
    pub(crate) over_cap: bool,
}

/// An operator's wish to let an agent back in.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) key: Key,
    pub(crate) reason: String,
}

/// Room for what several operators have said.
const LONGEST_REASON: usize = 4_000;

impl App {
    pub(crate) async fn quarantine(
        &self,
        call: &Call,
        wish: &Wish,
    ) -> Result<wire::QuarantineAgentResponse, Error> {
        let reply =
            database::retry_conflicts(ATTEMPTS, || self.quarantine_once(call, wish)).await?;
        self.relay.notify();
        Ok(reply)
    }

    async fn quarantine_once(
        &self,
        call: &Call,
        wish: &Wish,
    ) -> Result<wire::QuarantineAgentResponse, Error> {
        let (mut tx, key) = (self.pool.begin().await?, &wish.key);
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &key.workspace).await? {
            return Ok(reply);
        }
        let mut book = Book::open_one(&mut tx, key).await?;
        let account = book.account(key);
        if account.is_some_and(|account| account.closed_at.is_some()) {
            return Err(Error::Retired(key.agent.to_string()));
        }
        let actor = call.principal.subject();
        let one = match account.and_then(|account| account.stay) {
            Some(stay) => extend(&mut tx, &mut book, wish, &actor, stay).await?,
            None => begin(&mut tx, &mut book, wish, &actor).await?,
        };
        book.save(&mut tx, &self.routes).await?;
        let name = name(&mut tx, key).await?;
        let reply = wire::QuarantineAgentResponse {
            quarantine: Some(convert::quarantine_to_wire(&one, &name)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, &key.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    pub(crate) async fn release(
        &self,
        call: &Call,
        wish: &Release,
    ) -> Result<wire::ReleaseQuarantineResponse, Error> {
        let reply = database::retry_conflicts(ATTEMPTS, || self.release_once(call, wish)).await?;
        self.relay.notify();
        Ok(reply)
    }

    async fn release_once(
        &self,
        call: &Call,
        wish: &Release,
    ) -> Result<wire::ReleaseQuarantineResponse, Error> {
        let (mut tx, key) = (self.pool.begin().await?, &wish.key);
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &key.workspace).await? {
            return Ok(reply);
        }
        let mut book = Book::open_one(&mut tx, key).await?;
        let stay = book.account(key).and_then(|account| account.stay);
        let mut reply = wire::ReleaseQuarantineResponse { quarantine: None };
        if let Some(stay) = stay {
            let mut one = by_id(&mut tx, stay.id).await?;
            one.is_active = false;
            one.ends_at = book.now;
            one.release_reason = format!("{}: {}", call.principal.subject(), wish.reason);
            if let Some(account) = book.change(key, 0) {
                account.stay = None;
            }
            book.note(one.clone());
            let name = name(&mut tx, key).await?;
            reply.quarantine = Some(convert::quarantine_to_wire(&one, &name));
        }
        book.save(&mut tx, &self.routes).await?;
        receipt::insert(&mut tx, store::SCHEMA, call, &key.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    pub(crate) async fn quarantines(
        &self,
        workspace: &WorkspaceId,
        with_ended: bool,
        page: &Page<(DateTime<Utc>, Uuid)>,
    ) -> Result<wire::ListQuarantinesResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found =
            store::quarantine::list(&mut conn, workspace, with_ended, page.after, page.size + 1)
                .await?;
        let names = store::agent::names(&mut conn, found.iter().map(|one| &one.key)).await?;
        let cursors: Vec<_> = found.iter().map(|one| (one.started_at, one.id)).collect();
        let wire = found.iter().map(|one| {
            let name = names.get(&one.key).map_or("", String::as_str);
            convert::quarantine_to_wire(one, name)
        });
        let (quarantines, next_page_token) = page.cut(wire, &cursors);
        Ok(wire::ListQuarantinesResponse {
            quarantines,
            next_page_token,
        })
    }

    /// Lets back in, on trial, whoever's time is over. Tells whether there may be more.
    pub(crate) async fn end_quarantines(&self) -> Result<bool, Error> {
        const MOST: i64 = 100;
        let due = store::standing::due(&self.pool, MOST).await?;
        let mut failed = None;
        for key in &due {
            // One that cannot be ended must not hold up the others.
            if let Err(error) =
                database::retry_conflicts(ATTEMPTS, || self.end_quarantine(key)).await
            {
                failed = Some(error);
            }
        }
        if !due.is_empty() {
            self.relay.notify();
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(i64::try_from(due.len()).is_ok_and(|found| found == MOST)),
        }
    }

    async fn end_quarantine(&self, key: &Key) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        let mut book = Book::open_one(&mut tx, key).await?;
        let now = book.now;
        let stay = book.account(key).and_then(|account| account.stay);
        // Another replica, or an operator, may have been faster.
        let Some(stay) = stay.filter(|stay| stay.until <= now) else {
            return Ok(());
        };
        let mut one = by_id(&mut tx, stay.id).await?;
        one.is_active = false;
        if let Some(account) = book.change(key, 0) {
            account.stay = None;
            if account.closed_at.is_none() {
                let entries = account.standing.return_on_trial(now);
                let why = Why::here(format!("trial:{}", stay.id), "back on trial", now);
                book.write(key, entries, &why);
            }
        }
        book.note(one);
        book.save(&mut tx, &self.routes).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// A new one, if the caps or the operator allow it.
async fn begin(
    conn: &mut PgConnection,
    book: &mut Book,
    wish: &Wish,
    actor: &str,
) -> Result<Quarantine, Error> {
    let key = &wish.key;
    store::lock_workspaces(conn, &[key.workspace.to_string()]).await?;
    let commons = store::agent::commons(conn, &key.workspace, &[key.agent]).await?;
    let bite = commons.bite(key.agent);
    if let Some(bite) = &bite {
        if !wish.over_cap {
            return Err(cambium_immune::Error::CapBites(bite.clone()).into());
        }
        let name = name(conn, key).await?;
        book.alerts.push(over_cap(key, &name, actor, bite));
    }
    let term = Term {
        actor: actor.to_owned(),
        reason: wish.reason.clone(),
        length: wish.length,
        over_cap: bite.is_some(),
    };
    let begun = book.take_out(key, term, 0);
    begun.ok_or_else(|| Error::NoAgent(key.agent.to_string()))
}

/// One that runs never becomes shorter: for that it is released.
async fn extend(
    conn: &mut PgConnection,
    book: &mut Book,
    wish: &Wish,
    actor: &str,
    stay: Stay,
) -> Result<Quarantine, Error> {
    let mut one = by_id(conn, stay.id).await?;
    let length = wish
        .length
        .unwrap_or_else(|| cambium_immune::stay(one.count));
    let until = book.now + length;
    if until <= stay.until {
        return Ok(one);
    }
    one.ends_at = until;
    one.reason = format!("{}; {actor}: {}", one.reason, wish.reason);
    one.reason = one.reason.chars().take(LONGEST_REASON).collect();
    if let Some(account) = book.change(&wish.key, 0) {
        account.stay = Some(Stay { id: one.id, until });
    }
    book.note(one.clone());
    Ok(one)
}

async fn by_id(conn: &mut PgConnection, id: Uuid) -> Result<Quarantine, Error> {
    let mut found = store::quarantine::by_ids(conn, &[id]).await?;
    found
        .pop()
        .ok_or_else(|| Error::broken(format!("quarantine {id}"), "it is not there"))
}

/// The agent's name, or its id where genesis has told of none.
async fn name(conn: &mut PgConnection, key: &Key) -> Result<String, Error> {
    let mut names = store::agent::names(conn, [key]).await?;
    Ok(names.remove(key).unwrap_or_else(|| key.agent.to_string()))
}
