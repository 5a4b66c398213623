use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cambium_service_kit::config::Env;
use cambium_service_kit::postgres::{Listen, Options, Private};
use cambium_testkit::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

const BOUND: Duration = Duration::from_secs(30);

fn durable(data: &Path) -> Options {
    Options {
        folder: data.join("postgres"),
        durable: true,
        listen: Listen::Socket,
    }
}

fn quick(data: &Path) -> Options {
    Options {
        folder: data.join("postgres"),
        durable: false,
        listen: Listen::Loopback,
    }
}

async fn start(options: Options) -> anyhow::Result<Private> {
    tokio::task::spawn_blocking(|| Private::start(options))
        .await
        .unwrap()
}

async fn superuser(server: &Private) -> PgConnection {
    PgConnection::connect(&server.superuser_url("postgres"))
        .await
        .unwrap()
}

async fn write(server: &Private) {
    let mut conn = superuser(server).await;
    sqlx::raw_sql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
        .execute(&mut conn)
        .await
        .unwrap();
}

async fn read(server: &Private) -> i32 {
    let mut conn = superuser(server).await;
    sqlx::query_scalar("SELECT n FROM kept")
        .fetch_one(&mut conn)
        .await
        .unwrap()
}

async fn setting(server: &Private, name: &str) -> String {
    let mut conn = superuser(server).await;
    sqlx::query_scalar("SELECT current_setting($1)")
        .bind(name)
        .fetch_one(&mut conn)
        .await
        .unwrap()
}

async fn kill_hard(pid: u32) {
    kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
    let stat = format!("/proc/{pid}/stat");
    wait_until(BOUND, "the process is dead", async || {
        // Gone, or a zombie: only then can its parent see that it has ended.
        fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    })
    .await;
}

#[tokio::test]
async fn a_durable_server_keeps_its_data_when_it_is_stopped() {
    let data = TempDir::new().unwrap();

    let server = start(durable(data.path())).await.unwrap();
    write(&server).await;
    server.stop();
    let again = start(durable(data.path())).await.unwrap();

    assert_eq!(read(&again).await, 7);
    assert_eq!(setting(&again, "fsync").await, "on");
    assert_eq!(setting(&again, "listen_addresses").await, "");
}

#[tokio::test]
async fn a_killed_postmaster_costs_nothing_that_was_committed() {
    let data = TempDir::new().unwrap();
    let server = start(durable(data.path())).await.unwrap();
    write(&server).await;
    let _open = superuser(&server).await;

    // As after a power cut: its lock file, its memory and its backends are still there.
    kill_hard(server.pid()).await;
    let again = start(durable(data.path())).await.unwrap();

    assert_eq!(read(&again).await, 7);
    drop(server);
    assert_eq!(
        read(&again).await,
        7,
        "the first guardian touched a server that is not its own"
    );
}

#[tokio::test]
async fn a_server_whose_starter_was_killed_gives_way_to_the_next() {
    let data = TempDir::new().unwrap();
    let first = start(durable(data.path())).await.unwrap();
    write(&first).await;

    let second = start(durable(data.path())).await.unwrap();

    assert_eq!(read(&second).await, 7);
    assert_ne!(first.pid(), second.pid());
}

#[tokio::test]
async fn a_dead_server_is_revived_where_it_was() {
    let data = TempDir::new().unwrap();
    let mut server = start(durable(data.path())).await.unwrap();
    write(&server).await;
    let url = server.superuser_url("postgres");

    kill_hard(server.pid()).await;
    let revived = tokio::task::spawn_blocking(move || (server.revive().unwrap(), server))
        .await
        .unwrap();

    let (was_dead, server) = revived;
    assert!(was_dead);
    assert_eq!(server.superuser_url("postgres"), url);
    assert_eq!(read(&server).await, 7);
}

#[tokio::test]
async fn a_lock_file_whose_number_went_to_another_process_is_no_obstacle() {
    let data = TempDir::new().unwrap();
    let server = start(durable(data.path())).await.unwrap();
    write(&server).await;
    let lock = data.path().join("postgres/postmaster.pid");
    let text = fs::read_to_string(&lock).unwrap();
    server.stop();
    let rest = text.split_once('\n').unwrap().1;
    fs::write(&lock, format!("{}\n{rest}", std::process::id())).unwrap();

    let again = start(durable(data.path())).await.unwrap();

    assert_eq!(read(&again).await, 7);
}

#[tokio::test]
async fn a_folder_of_another_version_is_refused_in_a_sentence() {
    let data = TempDir::new().unwrap();
    fs::create_dir(data.path().join("postgres")).unwrap();
    fs::write(data.path().join("postgres/PG_VERSION"), "12\n").unwrap();

    let refused = start(durable(data.path())).await.unwrap_err().to_string();

    assert!(refused.contains("was made by Postgres 12"), "{refused}");
    assert!(
        refused.contains("install Postgres 12, or choose another data folder"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_folder_of_something_else_is_refused_and_left_alone() {
    let data = TempDir::new().unwrap();
    let letter = data.path().join("postgres/letter.txt");
    fs::create_dir(data.path().join("postgres")).unwrap();
    fs::write(&letter, "dear ada").unwrap();

    let refused = start(durable(data.path())).await.unwrap_err().to_string();

    assert!(
        refused.contains("holds no Postgres cluster: choose another data folder"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(letter).unwrap(), "dear ada");
}

#[tokio::test]
async fn a_durable_server_wants_the_password_and_gives_each_role_its_own() {
    let data = TempDir::new().unwrap();
    let server = start(durable(data.path())).await.unwrap();
    let pool = sqlx::PgPool::connect(&server.superuser_url("postgres"))
        .await
        .unwrap();
    sqlx::raw_sql("CREATE ROLE hypha LOGIN")
        .execute(&pool)
        .await
        .unwrap();

    let before = PgConnection::connect(&server.url("hypha", "postgres")).await;
    server.admit(&pool, "hypha").await.unwrap();
    let after = PgConnection::connect(&server.url("hypha", "postgres")).await;

    assert!(before.is_err());
    assert!(after.is_ok());
    assert!(
        !format!("{server:?}").contains(server.url("hypha", "x").split(['@', ':']).nth(2).unwrap())
    );
}

#[tokio::test]
async fn a_deep_folder_still_has_a_socket() {
    let data = TempDir::new().unwrap();
    let deep = data.path().join("d".repeat(60)).join("e".repeat(60));

    let server = start(Options {
        folder: deep.clone(),
        ..durable(data.path())
    })
    .await
    .unwrap();
    write(&server).await;

    assert_eq!(read(&server).await, 7);
    assert!(deep.join("PG_VERSION").is_file());
}

#[tokio::test]
async fn a_quick_server_leaves_nothing_behind() {
    let data = TempDir::new().unwrap();
    let server = start(quick(data.path())).await.unwrap();
    write(&server).await;

    assert_eq!(setting(&server, "fsync").await, "off");
    server.stop();

    assert_eq!(left_in(data.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_quick_server_outlives_its_killed_starter_by_a_moment_only() {
    let data = TempDir::new().unwrap();
    let mut starter = Command::new(std::env::current_exe().unwrap());
    starter
        .args(["--exact", "postgres::starter", "--ignored"])
        .env(STARTER_FOLDER, data.path());
    let mut starter = starter.stdout(Stdio::null()).spawn().unwrap();
    wait_until(BOUND, "the server runs", async || {
        data.path().join("runs").exists()
    })
    .await;

    starter.kill().unwrap();
    starter.wait().unwrap();

    let cluster = data.path().join("postgres/PG_VERSION");
    wait_until(BOUND, "the cluster is gone", async || !cluster.exists()).await;
}

const STARTER_FOLDER: &str = "CAMBIUM_TEST_STARTER_FOLDER";

#[tokio::test]
#[ignore = "not a test: the process that another test kills"]
async fn starter() {
    let Some(folder) = Env::process().text(STARTER_FOLDER) else {
        return;
    };
    let _server = start(quick(Path::new(&folder))).await.unwrap();
    fs::write(Path::new(&folder).join("runs"), "").unwrap();
    std::future::pending().await
}

fn left_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}
