//! The demo's agents and worker processes.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::hypha::v1::Graph;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Args;
use crate::enroll::enroll;
use crate::folder::Folder;

/// How many simulated tasks a worker process does at once.
const SLOTS: &str = "16";
/// How long workers may take to drain.
const DRAIN: Duration = Duration::from_secs(5);

/// The workspace that the demo lives in.
pub(super) const WORKSPACE: &str = "default";

/// Worker processes that end with this program, however it ends.
#[derive(Debug, Default)]
pub(super) struct Crew {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    process: Child,
    log: PathBuf,
}

impl Crew {
    /// Enrols an agent for every set of capabilities the graph needs, and at least one for each worker.
    pub(super) async fn gather(
        &mut self,
        connection: &Connection,
        graph: &Graph,
        folder: &Folder,
        args: &Args,
    ) -> anyhow::Result<()> {
        let agents = agents(&capability_sets(graph), args.workers.into());
        for agent in &agents {
            enroll(connection, WORKSPACE, &agent.name, &agent.capabilities).await?;
        }
        for number in 0..usize::from(args.workers) {
            let own = agents.iter().skip(number).step_by(args.workers.into());
            let names: Vec<&str> = own.map(|agent| agent.name.as_str()).collect();
            self.workers
                .push(Worker::start(number + 1, &names, folder, args.speed)?);
        }
        Ok(())
    }

    /// Resolves, with why, if a worker ends before it should.
    pub(super) async fn lost(&mut self) -> anyhow::Error {
        loop {
            for worker in &mut self.workers {
                if let Ok(Some(status)) = worker.process.try_wait() {
                    return anyhow::anyhow!(
                        "a worker ended early ({status}): {}",
                        last_line(&worker.log)
                    );
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Asks the workers to drain, and ends those that do not.
    pub(super) async fn dismiss(&mut self) {
        for worker in &self.workers {
            if let Some(pid) = worker.process.id().and_then(|id| i32::try_from(id).ok()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
        for worker in &mut self.workers {
            // Waiting would close it, and a worker whose input is closed drops what it holds.
            let _input = worker.process.stdin.take();
            if timeout(DRAIN, worker.process.wait()).await.is_err() {
                let _ = worker.process.kill().await;
            }
        }
        self.workers.clear();
    }
}

impl Worker {
    fn start(
        number: usize,
        agents: &[&str],
        folder: &Folder,
        speed: Option<f64>,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot find itself")?;
        let log = folder.path().join(format!("worker-{number}.log"));
        let mut command = Command::new(program);
        command.arg("worker").arg("--data").arg(folder.path());
        command.args([
            "--workspace",
            WORKSPACE,
            "--name",
            &format!("demo-{number}"),
        ]);
        command.args(["--simulate", "--slots", SLOTS, "--until-stdin-closes"]);
        command.args(agents.iter().flat_map(|agent| ["--agent", agent]));
        if let Some(speed) = speed {
            command.args(["--speed", &speed.to_string()]);
        }
        let process = command
            .env_remove("CAMBIUM_SERVER")
            .env_remove("CAMBIUM_TOKEN")
            .env_remove("CAMBIUM_TOKEN_FILE")
            .process_group(0) // Ctrl-C is ours to pass on
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("a worker process cannot be started")?;
        Ok(Self { process, log })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Agent {
    name: String,
    capabilities: Vec<String>,
}

/// The sets of capabilities that nodes require, each once.
fn capability_sets(graph: &Graph) -> Vec<Vec<String>> {
    let sets: BTreeSet<Vec<String>> = graph
        .nodes
        .iter()
        .map(|node| {
            node.requires
                .iter()
                .cloned()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect()
        })
        .collect();
    sets.into_iter().collect()
}

/// An agent for each set, round and round until every worker has one.
fn agents(sets: &[Vec<String>], workers: usize) -> Vec<Agent> {
    let count = sets.len().max(workers);
    let sets = sets.iter().cycle().take(count).enumerate();
    sets.map(|(at, set)| Agent {
        name: format!("demo-{}", at + 1),
        capabilities: set.clone(),
    })
    .collect()
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::Node;

    use super::*;

    fn graph(requires: &[&[&str]]) -> Graph {
        let node = |requires: &&[&str]| Node {
            requires: requires.iter().map(|&name| name.to_owned()).collect(),
            ..Node::default()
        };
        Graph {
            nodes: requires.iter().map(node).collect(),
            ..Graph::default()
        }
    }

    #[test]
    fn a_set_is_a_set_whatever_its_order() {
        let sets = capability_sets(&graph(&[&["a", "b"], &["b", "a"], &[], &["a"]]));

        assert_eq!(
            sets,
            [
                vec![],
                vec!["a".to_owned()],
                vec!["a".to_owned(), "b".to_owned()]
            ]
        );
    }

    #[test]
    fn every_set_and_every_worker_has_an_agent() {
        let sets = capability_sets(&graph(&[&["a"], &["b"], &["c"]]));

        let few_workers: Vec<_> = agents(&sets, 1)
            .into_iter()
            .map(|agent| agent.capabilities)
            .collect();
        let many_workers = agents(&sets, 5);

        assert_eq!(few_workers, sets);
        assert_eq!(many_workers.len(), 5);
        assert_eq!(many_workers[3].capabilities, many_workers[0].capabilities);
    }
}
