//! Worker processes: one that works by itself, and one that makes a call for each word it is told.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use cambium_e2e::part::{Alone, Answer, Part, Play, Word};
use cambium_testkit::wait_until;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::House;
use super::process::Process;

/// For whatever a worker process is asked.
const ANSWER: Duration = Duration::from_secs(60);

/// A worker process.
#[derive(Debug)]
pub(crate) struct Actor {
    process: Process,
    words: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl House {
    fn part(&self, replica: usize, worker: &str, agent: &str, play: Play) -> Part {
        Part {
            url: self.replicas[replica].url(),
            token: self.keys.worker(&[agent]),
            worker: worker.to_owned(),
            agents: vec![agent.to_owned()],
            play,
        }
    }

    /// A process that works as shipped workers do.
    pub(crate) async fn worker(&self, replica: usize, agent: &str, alone: Alone) -> Actor {
        let worker = alone.label.clone();
        self.worker_named(&worker, replica, agent, alone).await
    }

    /// The same under a name of its own.
    pub(crate) async fn worker_named(
        &self,
        name: &str,
        replica: usize,
        agent: &str,
        alone: Alone,
    ) -> Actor {
        let log = self.folder.path().join(format!("{}.log", alone.label));
        let part = self.part(replica, name, agent, Play::Alone(alone));
        Actor::start(&part, log).await
    }

    /// A registered process that makes one call a word.
    pub(crate) async fn puppet(&self, replica: usize, worker: &str, agent: &str) -> Actor {
        let part = self.part(replica, worker, agent, Play::ByHand);
        let log = self.folder.path().join(format!("{worker}.log"));
        let mut actor = Actor::start(&part, log).await;
        assert_eq!(actor.answer().await.code, "Ok", "{}", actor.process.log());
        actor
    }
}

impl Actor {
    async fn start(part: &Part, log: PathBuf) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_story-worker"));
        command
            .env("CAMBIUM_LOG", "info")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command, &log);
        let words = process.child.stdin.take().unwrap();
        let answers = BufReader::new(process.child.stdout.take().unwrap()).lines();
        let mut actor = Self {
            process,
            words,
            answers,
        };
        actor.say(part).await;
        actor
    }

    async fn say(&mut self, document: &impl serde::Serialize) {
        let line = serde_json::to_string(document).unwrap() + "\n";
        self.words.write_all(line.as_bytes()).await.unwrap();
        self.words.flush().await.unwrap();
    }

    async fn line(&mut self) -> String {
        let line = timeout(ANSWER, self.answers.next_line()).await;
        let line = line.ok().and_then(Result::unwrap);
        line.unwrap_or_else(|| panic!("nothing was said: {}", self.process.log()))
    }

    /// Tells it to make a call, whose answer is left for later: it may be paused.
    pub(crate) async fn tell(&mut self, word: Word) {
        self.say(&word).await;
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// Has it make a call.
    pub(crate) async fn ask(&mut self, word: Word) -> Answer {
        self.tell(word).await;
        self.answer().await
    }

    /// As a crash would.
    pub(crate) async fn kill(self) {
        self.process.kill().await;
    }

    pub(crate) async fn pause(&self) {
        self.process.pause().await;
    }

    pub(crate) fn resume(&self) {
        self.process.resume();
    }

    /// Waits until it has written this to its log.
    pub(crate) async fn logs(&self, text: &str) {
        wait_until(ANSWER, text, async || self.process.log().contains(text)).await;
    }

    /// Waits for the end of one that works by itself, and tells why it ended.
    pub(crate) async fn ended(&mut self, bound: Duration) -> String {
        let line: Value = serde_json::from_str(&self.line().await).unwrap();
        assert_eq!(self.process.ended(bound).await, 0, "{}", self.process.log());
        line["ended"].as_str().unwrap().to_owned()
    }
}
