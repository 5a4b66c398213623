//! The bench, seen from its load. Every word is followed by a wait: the costs are read while nothing is said.

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};

use crate::bench::job::{BEGIN, Closed, Loaded};
use crate::context::emit;

#[derive(Debug)]
pub(super) struct Parent {
    lines: Lines<BufReader<Stdin>>,
}

impl Parent {
    pub(super) fn new() -> Self {
        Self {
            lines: BufReader::new(tokio::io::stdin()).lines(),
        }
    }

    /// Warm: the measurement starts when this returns.
    pub(super) async fn begin(&mut self) -> anyhow::Result<()> {
        emit(BEGIN);
        self.word().await
    }

    /// The clock has been stopped.
    pub(super) async fn loaded(&mut self, loaded: &Loaded) -> anyhow::Result<()> {
        emit(&serde_json::to_string(loaded)?);
        self.word().await
    }

    /// Nothing is open any more.
    pub(super) async fn closed(&mut self, closed: Closed) -> anyhow::Result<()> {
        emit(&serde_json::to_string(&closed)?);
        self.word().await
    }

    async fn word(&mut self) -> anyhow::Result<()> {
        let word = self.lines.next_line().await?;
        word.map(drop).context("the bench has gone")
    }
}
