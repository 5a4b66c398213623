//! One running postmaster: started, awaited, stopped. Signals only a process it knows to be that postmaster.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::binaries::Binaries;
use super::cluster;
use super::identity::Identity;

const PAUSE: Duration = Duration::from_millis(20);
/// After a crash it first writes again what was lost, which may take a slow disk minutes.
const START: Duration = Duration::from_secs(300);
/// How long the backends of a killed postmaster may hold its memory.
const RECOVERY: Duration = Duration::from_secs(15);
const STOP: Duration = Duration::from_secs(15);

/// What a start needs to know.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) folder: &'a Path,
    pub(super) settings: &'a [String],
    pub(super) binaries: &'a Binaries,
    pub(super) identity: &'a Identity,
}

/// What Postgres prints, last of all, when the port it was given is another's.
const PORT_TAKEN: &str = "could not create any TCP/IP sockets";

/// Whether another port would have helped.
pub(super) fn is_port_taken(error: &anyhow::Error) -> bool {
    error.to_string().contains(PORT_TAKEN)
}

/// A start that failed: what Postgres printed.
struct Failed(String);

impl Failed {
    fn is_passing(&self) -> bool {
        [
            "shared memory block",
            "is still in use",
            "lock file",
            "starting up",
            "shutting down",
        ]
        .iter()
        .any(|sign| self.0.contains(sign))
    }
}

#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// Starts Postgres and waits until it answers. What a crash left behind is outwaited.
    pub(super) fn start(launch: &Launch<'_>) -> anyhow::Result<Self> {
        end_survivor(launch.folder)?;
        let deadline = Instant::now() + RECOVERY;
        loop {
            match Self::try_start(launch)? {
                Ok(server) => return Ok(server),
                Err(failed) if failed.is_passing() && Instant::now() < deadline => {
                    thread::sleep(5 * PAUSE)
                }
                Err(failed) => bail!(cluster::explain(&failed.0, launch.folder)),
            }
        }
    }

    fn try_start(launch: &Launch<'_>) -> anyhow::Result<Result<Self, Failed>> {
        use std::os::unix::process::CommandExt;
        let log = launch.folder.join("server.log");
        let unwritten = || {
            format!(
                "cannot write {}: check its disk and your rights",
                log.display()
            )
        };
        let (out, err) = File::create(&log)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .with_context(unwritten)?;
        let mut command = launch
            .identity
            .command(&launch.binaries.program("postgres"));
        command.arg("-D").arg(launch.folder);
        for setting in launch.settings {
            command.args(["-c", setting]);
        }
        // Its own process group: a Ctrl-C at the terminal is for us, who then stop it in order.
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        let child = command
            .spawn()
            .context("cannot run Postgres: run `./dev doctor`")?;
        let mut server = Self {
            child,
            folder: launch.folder.to_owned(),
        };
        Ok(match server.wait_until_ready()? {
            true => Ok(server),
            false => Err(Failed(fs::read_to_string(&log).unwrap_or_default())),
        })
    }

    /// False if it ended instead.
    fn wait_until_ready(&mut self) -> anyhow::Result<bool> {
        let deadline = Instant::now() + START;
        while self.is_running() {
            if let Some(lock) = Lock::read(&self.folder)
                && lock.pid == self.pid()
                && lock.is_ready
            {
                return Ok(true);
            }
            if Instant::now() > deadline {
                self.stop(Signal::SIGQUIT);
                bail!(
                    "Postgres in {} was not ready after five minutes: read server.log in that folder, then start again",
                    self.folder.display()
                );
            }
            thread::sleep(PAUSE);
        }
        Ok(false)
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX))
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it: SIGINT lets it close its files, SIGQUIT does not. One that does not listen is killed.
    pub(super) fn stop(&mut self, how: Signal) {
        for signal in [how, Signal::SIGQUIT, Signal::SIGKILL] {
            if !self.is_running() {
                return;
            }
            // A child not yet waited for keeps its id, so this hits nobody else.
            let _ = kill(self.pid(), signal);
            let deadline = Instant::now() + STOP;
            while self.is_running() && Instant::now() < deadline {
                thread::sleep(PAUSE);
            }
        }
    }
}

/// `postmaster.pid`, as far as we read it.
struct Lock {
    pid: Pid,
    is_ready: bool,
}

impl Lock {
    fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join("postmaster.pid")).ok()?;
        let pid = text.lines().next()?.trim().parse().ok()?;
        let is_ready = text
            .lines()
            .nth(7)
            .is_some_and(|status| status.trim() == "ready");
        Some(Self {
            pid: Pid::from_raw(pid),
            is_ready,
        })
    }
}

/// Ends the postmaster that a killed predecessor of ours left on this folder, which is ours alone.
fn end_survivor(folder: &Path) -> anyhow::Result<()> {
    let Some(Lock { pid, .. }) = Lock::read(folder) else {
        return Ok(());
    };
    if !is_alive(pid) {
        return Ok(());
    }
    if !works_in(pid, folder) {
        // Its number went to another process, or nobody collects the dead: containers know both.
        return remove_locks(folder);
    }
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        let _ = kill(pid, signal);
        let deadline = Instant::now() + STOP;
        while works_in(pid, folder) && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        if !works_in(pid, folder) {
            return remove_locks(folder);
        }
    }
    bail!(
        "an earlier Postgres (process {pid}) still holds {}: end it, then start again",
        folder.display()
    )
}

/// Removes what says that a server runs here. Should old backends still run, their memory says so too.
fn remove_locks(folder: &Path) -> anyhow::Result<()> {
    cluster::remove_if_there(&folder.join("postmaster.pid"))?;
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".s.PGSQL.") && name.ends_with(".lock") {
            cluster::remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn is_alive(pid: Pid) -> bool {
    !matches!(kill(pid, None), Err(Errno::ESRCH))
}

/// A postmaster's working folder is its data folder; a process that ended has none.
fn works_in(pid: Pid, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
}
