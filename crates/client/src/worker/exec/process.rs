//! One running program and its process group.

use std::os::unix::process::ExitStatusExt as _;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::worker::reply;

/// How long others of the group may hold the output open after the program itself has ended.
const LINGER: Duration = Duration::from_secs(1);
/// How much of the standard error is kept: its end.
const STDERR_KEPT: usize = 4 << 10;

/// What a program left behind.
#[derive(Debug, Default)]
pub(super) struct Finished {
    status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    pub(super) too_large: bool,
}

impl Finished {
    /// The code of its failure; `None` if it succeeded.
    pub(super) fn failure_code(&self) -> Option<String> {
        let status = self.status?;
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("EXIT_{code}")),
            (None, signal) => Some(format!("SIGNAL_{}", signal.unwrap_or_default())),
        }
    }
}

pub(super) struct Process {
    group: Group,
    finished: Pin<Box<dyn Future<Output = Finished> + Send>>,
}

impl Process {
    pub(super) fn start(mut command: Command, input: String) -> std::io::Result<Self> {
        let mut child = command
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(std::io::Error::other("a pipe is missing"));
        };
        let pipes = exchange(group, stdin, input, stdout, stderr);
        Ok(Self {
            group,
            finished: Box::pin(finish(group, child, pipes)),
        })
    }

    /// Waits for its end. May be dropped and called again.
    pub(super) async fn finished(&mut self) -> Finished {
        self.finished.as_mut().await
    }

    pub(super) fn pause(&self) {
        self.group.signal(Signal::SIGSTOP);
    }

    pub(super) fn resume(&self) {
        self.group.signal(Signal::SIGCONT);
    }

    /// Asks it to end, and ends it after `grace`.
    pub(super) async fn stop(&mut self, grace: Duration) {
        self.group.signal(Signal::SIGTERM);
        self.group.signal(Signal::SIGCONT); // a paused program hears nothing
        if timeout(grace, self.finished.as_mut()).await.is_err() {
            self.group.signal(Signal::SIGKILL);
            let _ = timeout(LINGER, self.finished.as_mut()).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.signal(Signal::SIGKILL);
    }
}

/// The program and whatever it started.
#[derive(Clone, Copy)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.map(Pid::from_raw))
    }

    /// A group that has ended hears nothing.
    fn signal(self, signal: Signal) {
        if let Some(group) = self.0 {
            let _ = killpg(group, signal);
        }
    }
}

/// Waits for the program and for its pipes. Others that keep those open are ended with it.
async fn finish(group: Group, mut child: Child, pipes: impl Future<Output = Finished>) -> Finished {
    let mut pipes = std::pin::pin!(pipes);
    let (status, early) = tokio::select! {
        finished = &mut pipes => (child.wait().await.ok(), Some(finished)),
        status = child.wait() => (status.ok(), None),
    };
    let finished = match early {
        Some(finished) => finished,
        None => match timeout(LINGER, &mut pipes).await {
            Ok(finished) => finished,
            Err(_) => {
                group.signal(Signal::SIGKILL);
                timeout(LINGER, pipes).await.unwrap_or_default()
            }
        },
    };
    Finished { status, ..finished }
}

async fn exchange(
    group: Group,
    mut stdin: ChildStdin,
    input: String,
    stdout: ChildStdout,
    stderr: ChildStderr,
) -> Finished {
    let feed = async {
        let _ = stdin.write_all(input.as_bytes()).await; // a program need not read it
        drop(stdin);
    };
    let ((), (stdout, too_large), stderr) = tokio::join!(feed, head(group, stdout), tail(stderr));
    Finished {
        status: None,
        stdout,
        stderr,
        too_large,
    }
}

/// Reads what fits; a program that writes more is ended.
async fn head(group: Group, stdout: ChildStdout) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let limit = reply::LARGEST as u64 + 1;
    let _ = stdout.take(limit).read_to_end(&mut kept).await;
    let too_large = kept.len() > reply::LARGEST;
    if too_large {
        group.signal(Signal::SIGKILL);
    }
    (kept, too_large)
}

/// Reads everything and keeps the end.
async fn tail(mut stderr: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0; 4 << 10]);
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..read]);
        let over = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..over);
    }
    String::from_utf8_lossy(&kept)
        .trim_end()
        .replace('\0', "\u{fffd}")
}
