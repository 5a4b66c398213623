//! `cambium fsck`: the oracle. Reads what is stored in one snapshot and checks the laws that must hold of it, whatever happened
//! (design: reliability, section 4). Mends nothing, and asks no service: it believes the rows alone.

mod laws;
mod rows;

use anyhow::Context as _;
use serde::Serialize;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use std::str::FromStr as _;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::table;

/// Check the laws that must hold of what is stored
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium fsck\n  cambium fsck --only I-W --json")]
pub(crate) struct Args {
    /// Only the laws whose id begins so, as in I-W
    #[arg(long, value_name = "ID", default_value = "")]
    only: String,
    /// The database [else that of a running `cambium up`]
    #[arg(
        long,
        value_name = "URL",
        env = "CAMBIUM_DATABASE_URL",
        hide_env_values = true
    )]
    database: Option<String>,
}

/// What was found of one law.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) id: &'static str,
    /// What was looked at.
    pub(crate) rows: usize,
    pub(crate) violations: usize,
    /// The first of them, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) witness: Option<String>,
}

impl Verdict {
    pub(crate) const fn of(id: &'static str) -> Self {
        Self {
            id,
            rows: 0,
            violations: 0,
            witness: None,
        }
    }

    /// One thing was looked at; where it does not hold, `witness` says so.
    pub(crate) fn check(&mut self, holds: bool, witness: impl FnOnce() -> String) {
        self.rows += 1;
        if !holds {
            self.violations += 1;
            self.witness.get_or_insert_with(witness);
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.violations += other.violations;
        self.witness = self.witness.or(other.witness);
        self
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let url = match args.database {
        Some(url) => url,
        None => {
            let folder = context.folder();
            folder.database_url().ok_or(Refusal::NotRunning {
                folder: folder.path().to_owned(),
            })?
        }
    };
    let verdicts = check(&url, &args.only).await?;
    anyhow::ensure!(
        !verdicts.is_empty(),
        Refusal::Usage(format!("no law's id begins with `{}`", args.only))
    );
    let broken = verdicts.iter().any(|verdict| verdict.violations > 0);
    context.print_value(&verdicts, |verdicts| shown(verdicts))?;
    Ok(if broken { Exit::Failed } else { Exit::Done })
}

/// Checks every law whose id begins with `only`.
pub(crate) async fn check(url: &str, only: &str) -> anyhow::Result<Vec<Verdict>> {
    let options = PgConnectOptions::from_str(url).context("the database's address is none")?;
    let mut conn = options
        .application_name("cambium-fsck")
        .connect()
        .await
        .context("the database cannot be reached: check its address and that it runs")?;
    let swarms = snapshot(&mut conn).await?;
    conn.close().await?;
    let mut verdicts = Vec::new();
    for (id, law) in laws::SWARM.iter().filter(|(id, _)| id.starts_with(only)) {
        let found = swarms.iter().map(law);
        verdicts.push(found.fold(Verdict::of(id), Verdict::join));
    }
    Ok(verdicts)
}

/// Everything as of one instant.
async fn snapshot(conn: &mut PgConnection) -> anyhow::Result<Vec<rows::Swarm>> {
    let mut tx = conn.begin().await?;
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .execute(&mut *tx)
        .await?;
    rows::load(&mut tx).await
}

fn shown(verdicts: &[Verdict]) -> String {
    let rows = verdicts.iter().map(|verdict| {
        [
            verdict.id.to_owned(),
            verdict.rows.to_string(),
            verdict.violations.to_string(),
            verdict.witness.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    table::table(["law", "rows", "violations", "first"], rows)
}
