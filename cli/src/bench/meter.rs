//! What a bench costs: CPU by process tree, commits and log bytes by Postgres's own counters, and a calibration.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::postgres::Private;
use sqlx::PgPool;
use tokio::process::Command;

/// Readings of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) cpu: Cpu,
    commits: i64,
    wal_bytes: i64,
}

/// Seconds of CPU that have been used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cpu {
    postgres: f64,
    service: f64,
    client: f64,
    machine: f64,
}

/// What a stretch of time cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    pub(super) postgres_s: f64,
    pub(super) service_s: f64,
    pub(super) client_s: f64,
    pub(super) commits: f64,
    pub(super) wal_bytes: f64,
    pub(super) rss_mb: f64,
    pub(super) other_cores: f64,
}

/// Reads costs. Has a connection of its own, whose few commits are in the count.
pub(super) struct Meter<'a> {
    postgres: &'a Private,
    pool: PgPool,
}

/// Kernel ticks in a second, on every Linux that matters.
const TICKS: f64 = 100.0;
const SCRIPT: &str = "INSERT INTO calibration (payload) VALUES ('{\"k\":\"v\",\"n\":1}');\n";

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
        let script = tempfile::NamedTempFile::new()?;
        fs::write(script.path(), SCRIPT)?;
        let program = self.postgres.programs().join("pgbench");
        let output = Command::new(&program)
            .args([
                "-n", "-M", "prepared", "-c", "8", "-j", "2", "-T", "3", "-f",
            ])
            .arg(script.path())
            .arg("postgres")
            .envs(self.postgres.environment())
            .output()
            .await
            .with_context(|| format!("{} cannot be run", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = rate.and_then(|rest| rest.split_whitespace().next());
        rate.and_then(|rate| rate.parse().ok()).with_context(|| {
            format!(
                "pgbench told no rate: {}",
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }

    pub(super) async fn read(&self, client: u32) -> anyhow::Result<Reading> {
        let (commits, wal_bytes): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT sum(xact_commit)::bigint FROM pg_stat_database),
                    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint",
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(Reading {
            cpu: self.read_cpu(client)?,
            commits,
            wal_bytes,
        })
    }

    pub(super) fn read_cpu(&self, client: u32) -> anyhow::Result<Cpu> {
        let processes = processes()?;
        Ok(Cpu {
            postgres: of_tree(&processes, self.postgres.pid()),
            service: processes
                .get(&std::process::id())
                .map_or(0.0, |one| one.cpu_s),
            client: processes.get(&client).map_or(0.0, |one| one.cpu_s),
            machine: machine()?,
        })
    }
}

impl Spent {
    #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
    pub(super) fn between(start: &Reading, end: &Cpu, after: &Reading, wall: Duration) -> Self {
        let postgres_s = end.postgres - start.cpu.postgres;
        let service_s = end.service - start.cpu.service;
        let client_s = end.client - start.cpu.client;
        let ours = postgres_s + service_s + client_s;
        let others = end.machine - start.cpu.machine - ours;
        Self {
            postgres_s,
            service_s,
            client_s,
            commits: (after.commits - start.commits) as f64,
            wal_bytes: (after.wal_bytes - start.wal_bytes) as f64,
            rss_mb: resident_mb(),
            other_cores: others.max(0.0) / wall.as_secs_f64(),
        }
    }
}

/// One process, as `/proc` tells it.
struct Process {
    parent: u32,
    cpu_s: f64,
}

fn processes() -> anyhow::Result<HashMap<u32, Process>> {
    let mut processes = HashMap::new();
    for entry in fs::read_dir("/proc").context("/proc cannot be read")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // One that ended meanwhile is none.
        if let Some(process) = process(id) {
            processes.insert(id, process);
        }
    }
    Ok(processes)
}

fn process(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        cpu_s: (ticks(11)? + ticks(12)?) / TICKS,
    })
}

/// CPU of a process and of all below it.
fn of_tree(processes: &HashMap<u32, Process>, root: u32) -> f64 {
    let own = processes.get(&root).map_or(0.0, |one| one.cpu_s);
    let children = processes.iter().filter(|(_, one)| one.parent == root);
    own + children.map(|(id, _)| of_tree(processes, *id)).sum::<f64>()
}

/// CPU that the whole machine has used.
fn machine() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/stat").context("/proc/stat cannot be read")?;
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|one| one.parse().ok())
        .collect();
    // User, nice, system, irq, softirq: what is neither idle nor stolen.
    let busy = [0, 1, 2, 5, 6].into_iter().filter_map(|at| ticks.get(at));
    Ok(busy.sum::<f64>() / TICKS)
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
