//! One process that a story can kill and pause. It ends with whoever holds it, and stays in the group of the test, so
//! that a runner that ends the test ends it too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cambium_testkit::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;

#[derive(Debug)]
pub(super) struct Process {
    pub(super) child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it; what it writes to standard error is added to `log`.
    pub(super) fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log);
        let child = command
            .stderr(file.unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            child,
            log: log.to_owned(),
        }
    }

    fn pid(&self) -> Pid {
        let pid = self.child.id().expect("it is waited for by its end alone");
        Pid::from_raw(i32::try_from(pid).unwrap())
    }

    /// As a crash would.
    pub(super) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Stops it in the middle of whatever it does.
    pub(super) async fn pause(&self) {
        let pid = self.pid();
        kill(pid, Signal::SIGSTOP).unwrap();
        let stat = format!("/proc/{pid}/stat");
        wait_until(Duration::from_secs(10), "a process stands", async || {
            let stat = fs::read_to_string(&stat).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('T')
        })
        .await;
    }

    pub(super) fn resume(&self) {
        kill(self.pid(), Signal::SIGCONT).unwrap();
    }

    /// Fails if it has ended.
    pub(super) fn must_run(&mut self) {
        if let Some(ended) = self.child.try_wait().unwrap() {
            panic!("a process ended, {ended}: {}", self.log());
        }
    }

    /// Waits for its end, and tells its exit code.
    pub(super) async fn ended(&mut self, bound: Duration) -> i32 {
        let ended = timeout(bound, self.child.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("it does not end: {}", self.log()));
        ended.unwrap().code().unwrap_or(-1)
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}
