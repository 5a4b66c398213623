//! Where stories take place: the programs of this workspace as processes in a folder of their own. Every wait has a
//! bound, and every process ends with its group whatever becomes of the story. Knows nothing of what is played.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cambium_service_kit::config::Env;
use cambium_testkit::wait_until;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// For a stack to start, or to stop, on a machine that is busy.
const STACK: Duration = Duration::from_secs(60);
/// For a command that asks and prints.
const COMMAND: Duration = Duration::from_secs(60);

/// A program of this workspace, built beside this test.
pub(crate) fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join(name);
    assert!(
        program.exists(),
        "{} is missing: `cargo build --workspace --bins` makes it",
        program.display()
    );
    program
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// The one document on standard output; anything beside it is a fault.
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{self:?}");
        lines.remove(0)
    }

    /// One document per line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let read =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        self.stdout.lines().map(read).collect()
    }

    /// Passes only what ended well.
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// The line that tells people what is wrong.
    pub(crate) fn sentence(&self) -> &str {
        let mut errors = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("error: "));
        let sentence = errors
            .next()
            .unwrap_or_else(|| panic!("no error: {self:?}"));
        assert_eq!(errors.next(), None, "{self:?}");
        sentence
    }
}

/// The command, with nothing of the caller's own settings: its home is `home`.
fn command(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program("cambium"));
    command.args(words);
    at_home(command, home)
}

/// A line as a person types it, where `cambium` is on the path.
pub(crate) fn shell(home: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    let path = Env::process().text("PATH").unwrap_or_default();
    let folders = std::iter::once(program("cambium").parent().unwrap().to_owned());
    let folders = std::env::join_paths(folders.chain(std::env::split_paths(&path)));
    command.args(["-c", line]).env("PATH", folders.unwrap());
    at_home(command, home)
}

fn at_home(mut command: Command, home: &Path) -> Command {
    command
        .current_dir(home)
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("share"));
    for name in ["SERVER", "TOKEN", "TOKEN_FILE", "WORKSPACE", "LOG"] {
        command.env_remove(format!("CAMBIUM_{name}"));
    }
    command
}

/// Runs `cambium` to its end.
pub(crate) async fn cambium(home: &Path, words: &[&str], bound: Duration) -> Said {
    run(command(home, words), bound).await
}

/// Runs any command to its end.
pub(crate) async fn run(mut command: Command, bound: Duration) -> Said {
    let shown = format!("{:?}", command.as_std());
    let child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let _group = Group::of(&child);
    let output = timeout(bound, child.wait_with_output()).await;
    let output = output
        .unwrap_or_else(|_| panic!("it took over {bound:?}: {shown}"))
        .unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A process group that ends with whoever holds this.
#[derive(Debug)]
struct Group(Pid);

impl Group {
    fn of(child: &Child) -> Self {
        Self(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()))
    }

    fn signal(&self, signal: Signal) {
        let _ = killpg(self.0, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// A process that runs until it is told to stop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    group: Group,
    stdout: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl Running {
    pub(crate) fn start(mut command: Command, log: PathBuf) -> Self {
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn();
        let mut child = child.unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            group: Group::of(&child),
            child,
            stdout,
            log,
        }
    }

    /// The next line of its standard output.
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(STACK, self.stdout.next_line()).await;
        let line = line.ok().and_then(Result::unwrap);
        line.unwrap_or_else(|| panic!("nothing was said: {}", self.log()))
    }

    /// What it has written to standard error so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has written this to standard error.
    pub(crate) async fn logs(&self, text: &str) {
        wait_until(COMMAND, text, async || self.log().contains(text)).await;
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(self) {
        self.group.signal(Signal::SIGKILL);
    }

    /// How it ended, if it did so by itself.
    pub(crate) async fn ends_within(&mut self, bound: Duration) -> Option<i32> {
        let ended = timeout(bound, self.child.wait()).await.ok()?;
        Some(ended.unwrap().code().unwrap_or(-1))
    }

    /// Asks it to stop, and tells its exit code.
    pub(crate) async fn stop(mut self) -> i32 {
        self.group.signal(Signal::SIGTERM);
        let ended = timeout(STACK, self.child.wait()).await;
        let ended = ended.unwrap_or_else(|_| panic!("it does not stop: {}", self.log()));
        ended.unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Running {
    /// A story that failed still lets Postgres close its files before their folder goes.
    fn drop(&mut self) {
        self.group.signal(Signal::SIGTERM);
        let deadline = Instant::now() + Duration::from_secs(15);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A whole stack, as `cambium up` makes it.
#[derive(Debug)]
pub(crate) struct Stage {
    up: Running,
    pub(crate) url: String,
    folder: TempDir,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// One that is told this by its environment.
    pub(crate) async fn open_with(settings: &[(&str, &str)]) -> Self {
        Self::in_folder(TempDir::new().unwrap(), "0", settings).await
    }

    async fn in_folder(folder: TempDir, port: &str, settings: &[(&str, &str)]) -> Self {
        let (home, data) = (folder.path(), folder.path().join("data"));
        let words = [
            "up",
            "--port",
            port,
            "--json",
            "--data",
            data.to_str().unwrap(),
        ];
        let mut command = command(home, &words);
        command.envs(settings.iter().copied());
        let mut up = Running::start(command, home.join("up.log"));
        let started: Value = serde_json::from_str(&up.line().await).unwrap();
        Self {
            up,
            url: started["url"].as_str().unwrap().to_owned(),
            folder,
        }
    }

    /// Stops the stack in order and starts it on the same folder and port.
    pub(crate) async fn reopen(self) -> Self {
        let Self { up, url, folder } = self;
        assert_eq!(up.stop().await, 0);
        Self::in_folder(folder, url.rsplit(':').next().unwrap(), &[]).await
    }

    /// The folder that its commands run in.
    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// Asks the stack, as its operator.
    pub(crate) async fn ask(&self, words: &[&str]) -> Said {
        let data = self.data();
        let words = [words, &["--data", &data]].concat();
        cambium(self.folder.path(), &words, COMMAND).await
    }

    /// Asks for one document, which must be given.
    pub(crate) async fn json(&self, words: &[&str]) -> Value {
        self.ask(&[words, &["--json"]].concat()).await.well().json()
    }

    /// Calls a method by reflection, with any further flags.
    pub(crate) async fn call(&self, method: &str, request: Value, flags: &[&str]) -> Value {
        let request = request.to_string();
        self.json(&[&["call", method, &request], flags].concat())
            .await
    }

    /// A worker process of its own.
    pub(crate) fn worker(&self, name: &str, words: &[&str]) -> Running {
        let data = self.data();
        let words = [&["worker", "--name", name, "--data", &data], words].concat();
        self.start(name, command(self.folder.path(), &words))
    }

    /// Any other process beside the stack.
    pub(crate) fn start(&self, name: &str, command: Command) -> Running {
        let log = self.folder.path().join(format!("{name}.log"));
        Running::start(command, log)
    }

    /// Writes a file that commands can name.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}
