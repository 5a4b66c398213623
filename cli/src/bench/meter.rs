//! What a bench costs: CPU by process tree, commits and log bytes by Postgres's own counters, and a calibration.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::postgres::Private;
use sqlx::PgPool;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::process::{self, Processes};

/// Readings of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    postgres_s: f64,
    service_s: f64,
    client_s: f64,
    machine_s: f64,
    wal_bytes: i64,
}

/// What a stretch of time cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) postgres_s: f64,
    pub(super) service_s: f64,
    pub(super) client_s: f64,
    pub(super) wal_bytes: f64,
    pub(super) rss_mb: f64,
    pub(super) other_cores: f64,
}

/// Reads costs. Has a connection of its own, whose few commits are in the count.
pub(super) struct Meter<'a> {
    postgres: &'a Private,
    pool: PgPool,
}

const SCRIPT: &str = "INSERT INTO calibration (payload) VALUES ('{\"k\":\"v\",\"n\":1}');\n";
const UPSERT: &str = "\\set k random(1, 100000)\nINSERT INTO keyed (k, n, payload) VALUES (:k, 1, '{\"k\":\"v\",\"n\":1}') ON CONFLICT (k) DO UPDATE SET n = keyed.n + 1, payload = excluded.payload;\n";
const SELECT: &str = "\\set k random(1, 100000)\nSELECT n, payload FROM keyed WHERE k = :k;\n";
/// How long a session may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

impl<'a> Meter<'a> {
    pub(super) async fn new(postgres: &'a Private) -> anyhow::Result<Self> {
        let url = Secret::new(postgres.superuser_url("postgres"));
        let options = PoolOptions {
            max: 1,
            service: "cambium-bench",
        };
        let pool = database::connect(&url, options)?;
        let make = "CREATE TABLE IF NOT EXISTS calibration (id uuid DEFAULT gen_random_uuid(), payload jsonb)";
        sqlx::query(make).execute(&pool).await?;
        Ok(Self { postgres, pool })
    }

    /// One-row inserts a second, each committed, by 8 clients in 3 s: what this machine's disk and Postgres can do now.
    pub(super) async fn calibrate(&self) -> anyhow::Result<f64> {
        self.pgbench(SCRIPT, 8).await
    }

    /// One-row upserts a second among 100,000 keys, each committed, by so many clients in 3 s.
    pub(super) async fn upserts(&self, clients: u32) -> anyhow::Result<f64> {
        self.fill().await?;
        self.pgbench(UPSERT, clients).await
    }

    /// One-row reads a second by one of 100,000 keys, by so many clients in 3 s.
    pub(super) async fn selects(&self, clients: u32) -> anyhow::Result<f64> {
        self.fill().await?;
        self.pgbench(SELECT, clients).await
    }

    async fn fill(&self) -> anyhow::Result<()> {
        let make = "CREATE TABLE IF NOT EXISTS keyed (k integer PRIMARY KEY, n integer NOT NULL, payload jsonb)";
        sqlx::query(make).execute(&self.pool).await?;
        let fill = "INSERT INTO keyed SELECT k, 0, '{\"k\":\"v\",\"n\":1}' FROM generate_series(1, 100000) AS k
                    ON CONFLICT (k) DO NOTHING";
        sqlx::query(fill).execute(&self.pool).await?;
        Ok(())
    }

    /// The database of the services, as its superuser.
    pub(super) const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// What pgbench does in 3 s, a second.
    async fn pgbench(&self, script: &str, clients: u32) -> anyhow::Result<f64> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), script)?;
        let program = self.postgres.programs().join("pgbench");
        let output = Command::new(&program)
            .args(["-n", "-M", "prepared", "-j", "2", "-T", "3"])
            .args(["-c", &clients.to_string(), "-f"])
            .arg(file.path())
            .arg("postgres")
            .envs(self.postgres.environment())
            .output()
            .await
            .with_context(|| format!("{} cannot be run", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        rate(&text).with_context(|| {
            format!(
                "pgbench told no rate: {}",
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }

    /// CPU and log up to now.
    pub(super) async fn read(&self, client: u32) -> anyhow::Result<Reading> {
        let wal_bytes =
            sqlx::query_scalar("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
                .fetch_one(&self.pool)
                .await?;
        let processes = Processes::now()?;
        Ok(Reading {
            postgres_s: processes.of_tree(self.postgres.pid()),
            service_s: processes.of(std::process::id()),
            client_s: processes.of(client),
            machine_s: process::machine_s()?,
            wal_bytes,
        })
    }

    /// Commits so far, once those of the calibration are in the count.
    pub(super) async fn commits(&self) -> anyhow::Result<i64> {
        let left = sqlx::query_scalar(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'",
        );
        self.ended(left.fetch_all(&self.pool).await?).await?;
        self.counted().await
    }

    /// Commits up to the last. Ends the sessions of the services, which may have open no work of ours any more: a session
    /// tells its commits a second late, or ten once it idles, but always as it ends.
    pub(super) async fn last_commits(&self) -> anyhow::Result<i64> {
        // Not in the WHERE: there it may be asked of any session, even of this one, before the others are ruled out.
        let told: Vec<(i32, bool)> = sqlx::query_as(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )
        .fetch_all(&self.pool)
        .await?;
        self.ended(told.into_iter().map(|(pid, _)| pid).collect())
            .await?;
        self.counted().await
    }

    async fn counted(&self) -> anyhow::Result<i64> {
        let sum = "SELECT sum(xact_commit)::bigint FROM pg_stat_database";
        Ok(sqlx::query_scalar(sum).fetch_one(&self.pool).await?)
    }

    /// Waits until these sessions have ended.
    async fn ended(&self, sessions: Vec<i32>) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = sqlx::query_scalar::<_, i64>(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)",
            );
            if left.bind(&sessions).fetch_one(&self.pool).await? == 0 {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "a session of Postgres does not end");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The rate in what pgbench prints.
fn rate(text: &str) -> Option<f64> {
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = "))?;
    rate.split_whitespace().next()?.parse().ok()
}

impl Spent {
    #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
    pub(super) fn between(start: &Reading, end: &Reading, wall: Duration) -> Self {
        let postgres_s = end.postgres_s - start.postgres_s;
        let service_s = end.service_s - start.service_s;
        let client_s = end.client_s - start.client_s;
        let ours = postgres_s + service_s + client_s;
        let others = end.machine_s - start.machine_s - ours;
        Self {
            postgres_s,
            service_s,
            client_s,
            wal_bytes: (end.wal_bytes - start.wal_bytes) as f64,
            rss_mb: process::resident_mb(),
            other_cores: others.max(0.0) / wall.as_secs_f64().max(f64::EPSILON),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found_in_what_pgbench_prints() {
        let text = "number of clients: 8\nlatency average = 0.4 ms\ntps = 18123.456 (without initial connection time)\n";

        assert_eq!(rate(text), Some(18_123.456));
        assert_eq!(rate("pgbench: error"), None);
    }

    #[test]
    fn what_is_not_ours_is_somebody_elses() {
        let end = Reading {
            postgres_s: 2.0,
            service_s: 1.0,
            client_s: 0.5,
            machine_s: 5.5,
            wal_bytes: 1_000,
        };

        let spent = Spent::between(&Reading::default(), &end, Duration::from_secs(4));

        assert_eq!((spent.postgres_s, spent.wal_bytes), (2.0, 1_000.0));
        assert_eq!(spent.other_cores, 0.5);
    }
}
