//! The command as its own help shows it: every example is typed as it stands, into a real shell, against real stacks.
//! A command whose example no story types fails here.

mod help;
mod minds;
mod steps;
mod table;
mod work;

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use crate::stage::{Running, Said, Stage, run, shell};
use table::{Step, WORKS};

/// For an example that ends by itself; the longest are demos.
const BOUND: Duration = Duration::from_secs(150);

/// How long it is seen that something stays.
const STAYS: Duration = Duration::from_secs(1);

/// How long a measurement is looked at: long enough to be refused, or to fail at its start.
const MEASURED: Duration = Duration::from_secs(5);

/// Does whatever a graph of [`table::FILES`] asks for.
const CREW: [&str; 9] = [
    "--agent",
    "crew",
    "--capability",
    "role:lead",
    "--capability",
    "role:writer",
    "--capability",
    "role:editor",
    "--simulate",
];

/// Writes what examples name into the folder that they are typed in.
fn furnish(home: &Path) {
    for folder in [home, &home.join("tmp"), &home.join("share")] {
        std::fs::create_dir_all(folder).unwrap();
        // Where root runs this, Postgres is somebody else, who has to pass through.
        std::fs::set_permissions(folder, Permissions::from_mode(0o711)).unwrap();
    }
    for (name, content) in table::FILES {
        let path = home.join(name);
        std::fs::write(&path, content).unwrap();
        if content.starts_with("#!") {
            std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
    }
}

fn typed(home: &Path, line: &str) -> Command {
    let mut command = shell(home, line);
    command
        .env("TMPDIR", home.join("tmp"))
        .env("PROFILE", home.join("profile.ps1"));
    command
}

/// One that stays: a signal must reach it, not the shell that it was typed into.
fn stays(home: &Path, line: &str, log: &str) -> Running {
    Running::start(typed(home, &format!("exec {line}")), home.join(log))
}

async fn ends_well(home: &Path, line: &str) -> Said {
    let said = run(typed(home, line), BOUND).await;
    assert_eq!(said.code, 0, "{line}: {said:?}");
    said
}

/// A stack in the data folder that commands look into by themselves.
async fn stage() -> Stage {
    let stage = Stage::open().await;
    furnish(stage.home());
    symlink(stage.data(), stage.home().join("share/cambium")).unwrap();
    stage
}

async fn take(steps: &[Step], home: &Path) {
    for Step { before, line } in steps {
        for line in *before {
            ends_well(home, line).await;
        }
        ends_well(home, line).await;
    }
}

#[tokio::test]
async fn every_example_of_every_command_is_typed_by_a_story() {
    let shown: BTreeSet<String> = help::examples().await;

    let measurements = |line: &&String| !line.starts_with(table::MEASURES);
    let shown: BTreeSet<&str> = shown
        .iter()
        .filter(measurements)
        .map(String::as_str)
        .collect();
    let typed: BTreeSet<&str> = table::all().chain(minds::examples()).collect();
    let untyped: Vec<&&str> = shown.difference(&typed).collect();
    let unknown: Vec<&&str> = typed.difference(&shown).collect();
    assert!(untyped.is_empty(), "no story types {untyped:#?}");
    assert!(unknown.is_empty(), "no help shows {unknown:#?}");
}

#[tokio::test]
async fn examples_that_ask_a_stack_end_well() {
    let stage = stage().await;
    let home = stage.home();

    take(table::WHILE_NOBODY_WORKS, home).await;
    take(table::ABOUT_AGENTS, home).await;
    for line in table::OF_OLD_STACKS {
        let said = run(typed(home, line), BOUND).await;
        assert_eq!(said.code, 1, "{line}: {said:?}");
        assert!(said.sentence().contains("no learning"), "{line}: {said:?}");
    }
    for line in table::WATCHES {
        let mut watch = stays(home, line, "watch.log");
        assert!(!watch.line().await.is_empty(), "{line}");
        assert_eq!(watch.stop().await, 0, "{line}");
    }
    let crew = stage.worker("crew", &CREW);
    crew.logs("session: registered").await;
    take(table::WHILE_A_CREW_WORKS, home).await;

    assert_eq!(crew.stop().await, 0);
}

#[tokio::test]
async fn examples_of_workers_register_and_drain() {
    let stage = stage().await;
    let home = stage.home();

    for (number, Step { before, line }) in WORKS.iter().enumerate() {
        for line in *before {
            ends_well(home, line).await;
        }
        let worker = stays(home, line, &format!("worker-{number}.log"));
        worker.logs("session: registered").await;
        let log = worker.log();
        assert_eq!(worker.stop().await, 0, "{line}: {log}");
    }
}

#[tokio::test]
async fn examples_of_stacks_come_up_and_stop() {
    for line in table::STACKS {
        let home = TempDir::new().unwrap();
        furnish(home.path());
        // The usual port may be anybody's on this machine.
        let port = if line.contains("--port") {
            ""
        } else {
            " --port 0"
        };

        let mut up = stays(home.path(), &format!("{line}{port}"), "up.log");

        assert_eq!(up.line().await, "cambium is up", "{line}");
        assert_eq!(up.stop().await, 0, "{line}");
    }
}

#[tokio::test]
async fn examples_of_demos_end_well() {
    for Step { before, line } in table::DEMOS {
        let home = TempDir::new().unwrap();
        furnish(home.path());
        for line in *before {
            ends_well(home.path(), line).await;
        }

        let said = ends_well(home.path(), line).await;

        let came_well = ["succeeded", " 0 violations"];
        assert!(
            came_well.iter().any(|word| said.stdout.contains(word)),
            "{line}: {said:?}"
        );
    }
}

#[tokio::test]
async fn examples_of_measurements_begin_well() {
    let shown = help::examples().await;
    let measurements = shown
        .iter()
        .filter(|line| line.starts_with(table::MEASURES));

    for line in measurements {
        let home = TempDir::new().unwrap();
        furnish(home.path());

        let mut measurement = stays(home.path(), line, "measurement.log");

        let ended = measurement.ends_within(MEASURED).await;
        assert!(
            matches!(ended, None | Some(0)),
            "{line}: {ended:?} {}",
            measurement.log()
        );
        measurement.stop().await;
    }
}
