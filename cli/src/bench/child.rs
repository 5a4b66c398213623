//! The load's process, seen from the bench: it is told a job and when to go on, and answers in lines.

use std::process::Stdio;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{self, ChildStdin, ChildStdout, Command};

use super::job::Job;
use crate::folder::Folder;

/// Ends with this program, however that ends.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    say: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Child {
    pub(super) fn spawn(job: &Job, folder: &Folder) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("--data")
            .arg(folder.path())
            .args(["bench", "load", "--job", &serde_json::to_string(job)?])
            .env_remove("CAMBIUM_SERVER")
            .env_remove("CAMBIUM_TOKEN_FILE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the load cannot be started")?;
        let out = process.stdout.take().context("the load has no output")?;
        Ok(Self {
            say: process.stdin.take().context("the load has no input")?,
            lines: BufReader::new(out).lines(),
            process,
        })
    }

    pub(super) fn id(&self) -> anyhow::Result<u32> {
        self.process.id().context("the load has ended")
    }

    pub(super) async fn expect(&mut self, word: &str) -> anyhow::Result<()> {
        let line = self.line().await?;
        anyhow::ensure!(line == word, "the load said `{line}` instead of `{word}`");
        Ok(())
    }

    /// The load waits for this after everything that it says.
    pub(super) async fn go_on(&mut self) -> anyhow::Result<()> {
        self.say.write_all(b"\n").await?;
        Ok(self.say.flush().await?)
    }

    pub(super) async fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let line = self.line().await?;
        serde_json::from_str(&line).with_context(|| format!("the load said `{line}`"))
    }

    pub(super) async fn ended(mut self) -> anyhow::Result<()> {
        self.go_on().await?;
        let status = self.process.wait().await?;
        anyhow::ensure!(status.success(), "the load failed: {status}");
        Ok(())
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let line = self.lines.next_line().await?;
        line.context("the load ended early; what it said stands above")
    }
}
