//! Reads what a run moved out of the ledger of generosity: each fact that the run sent is a row, so that it is known when all
//! of them have been applied.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cambium_client::Connection;
use cambium_proto::hypha::v1::Run;
use cambium_proto::immune::v1::{ExplainStandingRequest, LedgerEntry, ScoreKind, Standing};
use prost_types::Timestamp;
use tokio::time::{Instant, sleep};
use tonic::{Code, Status};

use super::Moved;
use crate::ask::ask;
use crate::context::hint;
use crate::names::Names;

/// How long what a run sent may take to be applied.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_millis(50);
const PAGE: i32 = 200;

/// How the run's agents stand once everything that it sent has been applied, or as far as it has.
pub(super) async fn read(
    connection: &Connection,
    run: &Run,
    agents: &BTreeSet<String>,
) -> Result<Vec<Moved>, Status> {
    let sent = run.gratitude + run.dead_ends;
    let until = Instant::now() + PATIENCE;
    let mut books: BTreeMap<&str, Book> = BTreeMap::new();
    loop {
        for agent in agents {
            let book = books.entry(agent).or_default();
            book.catch_up(connection, run, agent).await?;
        }
        let applied: i64 = books.values().map(|book| book.rows).sum();
        let known = books.values().filter(|book| book.standing.is_some());
        if applied >= sent && known.count() == agents.len() {
            break;
        }
        if Instant::now() >= until {
            let told =
                format!("immune has applied {applied} of the {sent} facts of this run so far");
            hint(&told);
            break;
        }
        sleep(BETWEEN).await;
    }
    let names = Names::of(connection, &run.workspace_id, books.keys().copied()).await;
    let moved = books
        .into_iter()
        .filter_map(|(agent, book)| book.moved(names.name(agent)));
    let mut moved: Vec<Moved> = moved.collect();
    moved.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    Ok(moved)
}

/// What has been read of one agent's generosity since the run began.
#[derive(Debug, Default)]
struct Book {
    standing: Option<Standing>,
    /// The newest row that was read.
    read: i64,
    /// Rows of this run.
    rows: i64,
    before: Option<f64>,
}

impl Book {
    /// Reads what is new. An agent that immune has not heard of yet has nothing.
    async fn catch_up(
        &mut self,
        connection: &Connection,
        run: &Run,
        agent: &str,
    ) -> Result<(), Status> {
        let mut request = ExplainStandingRequest {
            workspace_id: run.workspace_id.clone(),
            agent_id: agent.to_owned(),
            name: String::new(),
            score: ScoreKind::Generosity.into(),
            page_size: PAGE,
            page_token: String::new(),
        };
        let mut new = Vec::new();
        loop {
            let reply = match ask!(connection, standings.explain_standing(request.clone())) {
                Ok(reply) => reply,
                Err(status) if status.code() == Code::NotFound => return Ok(()),
                Err(status) => return Err(status),
            };
            if request.page_token.is_empty() {
                self.standing = reply.standing;
            }
            let fresh = reply
                .entries
                .iter()
                .take_while(|entry| self.is_new(entry, run));
            let fresh = fresh.count();
            let is_last = fresh < reply.entries.len() || reply.next_page_token.is_empty();
            new.extend(reply.entries.into_iter().take(fresh));
            if is_last {
                break;
            }
            request.page_token = reply.next_page_token;
        }
        self.enter(&new, &run.run_id);
        Ok(())
    }

    fn is_new(&self, entry: &LedgerEntry, run: &Run) -> bool {
        entry.seq > self.read && nanos(entry.record_time) >= nanos(run.start_time)
    }

    /// Takes in rows, the newest first, that follow on what was read before.
    fn enter(&mut self, new: &[LedgerEntry], run_id: &str) {
        let (Some(newest), Some(oldest)) = (new.first(), new.last()) else {
            return;
        };
        self.read = newest.seq;
        self.before = self.before.or(Some(oldest.before));
        let own = new.iter().filter(|entry| entry.workflow_run_id == run_id);
        self.rows += i64::try_from(own.count()).unwrap_or(i64::MAX);
    }

    /// Genesis knows best what an agent is called; facts of it may have come before its name.
    fn moved(self, name: &str) -> Option<Moved> {
        let standing = self.standing?;
        Some(Moved {
            name: name.to_owned(),
            generosity_before: self.before.unwrap_or(standing.generosity),
            generosity_after: standing.generosity,
            trust: standing.trust,
        })
    }
}

/// A moment that can be compared; without one, the beginning of time.
pub(super) fn nanos(at: Option<Timestamp>) -> i128 {
    let at = at.unwrap_or_default();
    i128::from(at.seconds) * 1_000_000_000 + i128::from(at.nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64, before: f64, run: &str) -> LedgerEntry {
        LedgerEntry {
            seq,
            before,
            workflow_run_id: run.to_owned(),
            record_time: Some(Timestamp {
                seconds: 100 + seq,
                nanos: 0,
            }),
            ..LedgerEntry::default()
        }
    }

    fn book() -> Book {
        Book {
            standing: Some(Standing {
                generosity: 0.59,
                trust: 0.5,
                ..Standing::default()
            }),
            ..Book::default()
        }
    }

    #[test]
    fn generosity_before_is_what_the_first_row_since_the_start_found() {
        let mut book = book();

        book.enter(&[entry(3, 0.56, "r1"), entry(2, 0.53, "r1")], "r1");
        book.enter(&[entry(5, 0.59, "r2"), entry(4, 0.59, "r1")], "r1");

        assert_eq!((book.read, book.rows), (5, 3));
        let moved = book.moved("ada").unwrap();
        assert_eq!(
            (moved.generosity_before, moved.generosity_after),
            (0.53, 0.59)
        );
    }

    #[test]
    fn an_agent_that_nothing_moved_is_as_it_was() {
        let moved = book().moved("ada").unwrap();

        assert_eq!(moved.generosity_before, moved.generosity_after);
        assert_eq!(Book::default().moved("ada"), None);
    }

    #[test]
    fn rows_from_before_the_run_and_rows_already_read_are_not_new() {
        let run = Run {
            start_time: entry(3, 0.5, "").record_time,
            ..Run::default()
        };
        let book = Book {
            read: 4,
            ..Book::default()
        };

        let is_new = |seq| book.is_new(&entry(seq, 0.5, "r1"), &run);
        assert_eq!([is_new(2), is_new(4), is_new(5)], [false, false, true]);
        assert!(!Book::default().is_new(&entry(2, 0.5, "r1"), &run));
    }
}
