//! One replica of a service: a place with a fixed port, at which a process runs or does not.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rand::Rng as _;
use tokio::process::Command;

use super::process::Process;
use crate::stage::program;

#[derive(Debug)]
pub(super) struct Replica {
    /// As its variables begin, and its program.
    service: &'static str,
    process: Option<Process>,
    port: u16,
    admin: u16,
    settings: Vec<(String, String)>,
    log: PathBuf,
}

impl Replica {
    pub(super) fn new(service: &'static str, number: usize, folder: &Path) -> Self {
        Self {
            service,
            process: None,
            port: lasting_port(),
            admin: lasting_port(),
            settings: Vec::new(),
            log: folder.join(format!("{service}-{number}.log")),
        }
    }

    /// What its environment says beside where it listens.
    pub(super) fn settle(&mut self, settings: Vec<(String, String)>) {
        self.settings = settings;
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn start(&mut self) {
        let mut command = Command::new(program(&format!("{}-svc", self.service)));
        let name = self.service.to_uppercase();
        command
            .env(format!("{name}_LISTEN"), format!("127.0.0.1:{}", self.port))
            .env(format!("{name}_ADMIN"), format!("127.0.0.1:{}", self.admin))
            .env("CAMBIUM_LOG", "warn")
            .envs(self.settings.clone())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        assert!(self.process.is_none(), "one process a place");
        self.process = Some(Process::start(&mut command, &self.log));
    }

    fn process(&self) -> &Process {
        self.process.as_ref().expect("the replica is launched")
    }

    pub(super) async fn kill(&mut self) {
        self.process.take().unwrap().kill().await;
    }

    pub(super) async fn pause(&self) {
        self.process().pause().await;
    }

    pub(super) fn resume(&self) {
        self.process().resume();
    }

    pub(super) fn must_run(&mut self) {
        if let Some(process) = &mut self.process {
            process.must_run();
        }
    }
}

/// A port that nobody's outgoing connection takes while the replica is down: below those that the system hands out.
fn lasting_port() -> u16 {
    let mut random = rand::rng();
    let mut ports = (0..1_000).map(|_| random.random_range(16_000..32_000));
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.expect("a thousand ports are not all taken")
}
