//! Keeps `.sqlx/`, what the compiler knows of our SQL without a database, in step with code and migrations.
//! Reads migrations as text: depending on a service would need the very data that is being made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::postgres::scratch;

/// A service that owns a schema.
#[derive(Debug)]
struct Service {
    folder: PathBuf,
    schema: String,
}

/// Writes `.sqlx/` anew. What stood there stays until the new data is whole.
pub(crate) fn prepare() -> anyhow::Result<()> {
    let fresh = compiled()?;
    replace(&fresh)?;
    println!("sqlx: {} queries", snapshot(&data())?.len());
    Ok(())
}

/// Fails if what stood in `.sqlx/` was not what the code and the migrations say. What is right stays untouched: new files would
/// make whoever builds next build all services again.
pub(crate) fn check() -> anyhow::Result<()> {
    let fresh = compiled()?;
    let (before, after) = (snapshot(&data())?, snapshot(&fresh)?);
    let names = before.keys().chain(after.keys());
    let mut stale: Vec<&String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    stale.sort();
    stale.dedup();
    if stale.is_empty() {
        println!("sqlx: {} queries", before.len());
        return Ok(fs::remove_dir_all(&fresh)?);
    }
    replace(&fresh)?;
    anyhow::bail!(".sqlx/ was stale and has been mended, commit it: {stale:?}");
}

/// A folder with the data of now.
fn compiled() -> anyhow::Result<PathBuf> {
    let services = services()?;
    let scratch = scratch()?;
    let url = scratch.superuser_url("postgres");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(migrate(&services, &url))?;
    let fresh = crate::root().join(".sqlx-new");
    empty(&fresh)?;
    let mut touched = Touched::default();
    for service in &services {
        touched.all_of(&service.folder.join("src"))?;
    }
    if let Err(error) = compile(&services, &url, &fresh) {
        fs::remove_dir_all(&fresh)?;
        return Err(error);
    }
    Ok(fresh)
}

fn replace(fresh: &Path) -> anyhow::Result<()> {
    empty(&data())?;
    Ok(fs::rename(fresh, data())?)
}

fn data() -> PathBuf {
    crate::root().join(".sqlx")
}

/// Every folder `<schema>-svc` that has migrations, by name.
fn services() -> anyhow::Result<Vec<Service>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(crate::root())? {
        let folder = entry?.path();
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(schema) = name.strip_suffix("-svc")
            && folder.join("migrations").is_dir()
        {
            found.push(Service {
                schema: schema.to_owned(),
                folder,
            });
        }
    }
    found.sort_by(|a, b| a.schema.cmp(&b.schema));
    Ok(found)
}

async fn migrate(services: &[Service], url: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url)
        .await
        .context("connecting to the private Postgres")?;
    for service in services {
        let create = format!("CREATE SCHEMA {}", service.schema);
        sqlx::raw_sql(AssertSqlSafe(create))
            .execute(&mut connection)
            .await?;
        for file in migrations(&service.folder)? {
            let text = fs::read_to_string(&file)?;
            let applied = sqlx::raw_sql(AssertSqlSafe(text))
                .execute(&mut connection)
                .await;
            applied.with_context(|| format!("applying {}", file.display()))?;
        }
    }
    Ok(connection.close().await?)
}

/// In the order in which they are applied, which is that of their names.
fn migrations(service: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(service.join("migrations"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Files that look changed, so that the compiler looks again: only what it recompiles writes its data. Afterwards they are as old
/// as they were, and nobody builds them once more.
#[derive(Debug, Default)]
struct Touched(Vec<(PathBuf, SystemTime)>);

impl Touched {
    fn all_of(&mut self, folder: &Path) -> anyhow::Result<()> {
        if !folder.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.all_of(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = File::options().append(true).open(&path)?;
                let was = file.metadata()?.modified()?;
                file.set_modified(now())?;
                self.0.push((path, was));
            }
        }
        Ok(())
    }
}

impl Drop for Touched {
    fn drop(&mut self) {
        for (path, was) in &self.0 {
            let aged = File::options()
                .append(true)
                .open(path)
                .and_then(|file| file.set_modified(*was));
            if let Err(error) = aged {
                eprintln!("{} will be built again: {error}", path.display());
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file's time of change is the wall clock's"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Checks the libraries of the whole workspace, so that features are those of every other build. Nothing else has such queries.
fn compile(services: &[Service], url: &str, into: &Path) -> anyhow::Result<()> {
    let mut cargo = crate::command("cargo");
    cargo
        .args(["check", "--quiet", "--workspace", "--lib"])
        .current_dir(crate::root());
    cargo.env("SQLX_OFFLINE_DIR", into);
    for service in services {
        cargo.env(format!("{}_CHECK_URL", service.schema.to_uppercase()), url);
    }
    let status = cargo.status().context("starting cargo")?;
    anyhow::ensure!(status.success(), "cargo check failed beside a database");
    Ok(())
}

/// What such a folder holds, by file name.
fn snapshot(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path())?,
            );
        }
    }
    Ok(files)
}
