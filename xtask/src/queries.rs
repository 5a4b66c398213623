//! Keeps `.sqlx/`, what the compiler knows of our SQL without a database, in step with code and migrations.
//! Reads migrations as text: depending on a service would need the very data that is being made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

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
    let services = services()?;
    let scratch = scratch()?;
    let url = scratch.superuser_url("postgres");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(migrate(&services, &url))?;
    let fresh = crate::root().join(".sqlx-new");
    empty(&fresh)?;
    for service in &services {
        touch(&service.folder.join("src"))?;
        touch(&service.folder.join("tests"))?;
    }
    if let Err(error) = compile(&services, &url, &fresh) {
        fs::remove_dir_all(&fresh)?;
        return Err(error);
    }
    empty(&data())?;
    fs::rename(&fresh, data())?;
    println!(
        "sqlx: {} queries of {} services",
        snapshot()?.len(),
        services.len()
    );
    Ok(())
}

/// Fails if what stood in `.sqlx/` was not what the code and the migrations say.
pub(crate) fn check() -> anyhow::Result<()> {
    let before = snapshot()?;
    prepare()?;
    let after = snapshot()?;
    let names = before.keys().chain(after.keys());
    let mut stale: Vec<&String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    stale.sort();
    stale.dedup();
    anyhow::ensure!(
        stale.is_empty(),
        ".sqlx/ was stale and has been mended, commit it: {stale:?}"
    );
    Ok(())
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

/// Makes the compiler look again: only what it recompiles writes its data.
fn touch(folder: &Path) -> anyhow::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            touch(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            File::options()
                .append(true)
                .open(&path)?
                .set_modified(now())?;
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file's time of change is the wall clock's"
)]
fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Checks the whole workspace, so that features are those of every other build.
fn compile(services: &[Service], url: &str, into: &Path) -> anyhow::Result<()> {
    let mut cargo = crate::command("cargo");
    cargo
        .args(["check", "--quiet", "--workspace", "--all-targets"])
        .current_dir(crate::root());
    cargo.env("SQLX_OFFLINE_DIR", into);
    for service in services {
        cargo.env(format!("{}_CHECK_URL", service.schema.to_uppercase()), url);
    }
    let status = cargo.status().context("starting cargo")?;
    anyhow::ensure!(status.success(), "cargo check failed beside a database");
    Ok(())
}

/// What `.sqlx/` holds, by file name.
fn snapshot() -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if data().is_dir() {
        for entry in fs::read_dir(data())? {
            let entry = entry?;
            files.insert(
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path())?,
            );
        }
    }
    Ok(files)
}
