//! Where a demo takes place: opened, played on, and cleared away whatever happened.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::hypha::v1::{ImportGraphRequest, StartRunRequest};
use tempfile::TempDir;

use super::crew::{Crew, WORKSPACE};
use super::{Args, Play, Played};
use crate::commons;
use crate::context::{hint, request_id};
use crate::folder::Folder;
use crate::follow::{self, Follow};
use crate::run;
use crate::stack::{Stack, StackOptions};
use crate::summary::{self, Summary};

#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    crew: Crew,
    stack: Option<Stack>,
}

impl Stage {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cambium-demo-").tempdir();
        Ok(Self {
            folder: folder
                .context("no temporary folder can be made: check that the disk is not full")?,
            crew: Crew::default(),
            stack: None,
        })
    }

    /// Starts everything, runs the graph, and sums it up.
    pub(super) async fn play(&mut self, play: &Play, args: &Args) -> anyhow::Result<Played> {
        let folder = Folder::at(self.folder.path());
        hint("starting a private Postgres and the services …");
        let options = StackOptions {
            folder: folder.clone(),
            port: 0,
        };
        let stack = self.stack.insert(Stack::start(options).await?);
        let connection = Connection::open(stack.url(), stack.token_source()?, Default::default())?;

        let imported = run::import(&connection, import(play, args)).await?;
        let version = imported
            .version
            .context("the service's reply holds no version")?;
        hint(&format!(
            "enrolling agents, starting {} worker processes …",
            args.workers
        ));
        self.crew
            .gather(&connection, &play.imported.graph, &folder, args)
            .await?;

        let started = Instant::now();
        let request = StartRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_key: request_id(),
            graph: version.name,
            version: version.version,
            input: play.input.clone(),
            ..StartRunRequest::default()
        };
        let run_id = run::start(&connection, request).await?.run_id;
        let follow = Follow {
            connection: &connection,
            workspace: WORKSPACE.to_owned(),
            run_id,
            after_seq: 0,
        };
        let run = tokio::select! {
            run = follow::to_the_end(follow) => run?,
            lost = self.crew.lost() => return Err(lost),
            ended = stack.ended() => return Err(ended.err().unwrap_or_else(|| anyhow::anyhow!("the services ended"))),
        };
        let wall = started.elapsed();
        let failed = summary::failed_tasks(&connection, &run).await?;
        let commons = commons::of(&connection, &run).await;
        let summary = Summary::of(&run, failed, wall).with(commons);
        Ok((summary, run.state()))
    }

    /// Ends everything; returns the folder if it was to be kept.
    pub(super) async fn close(mut self, keep: bool) -> anyhow::Result<Option<PathBuf>> {
        self.crew.dismiss().await;
        if let Some(stack) = self.stack.take() {
            stack.stop().await?;
        }
        if keep {
            return Ok(Some(self.folder.keep()));
        }
        self.folder
            .close()
            .context("the temporary folder could not be removed")?;
        Ok(None)
    }
}

fn import(play: &Play, args: &Args) -> ImportGraphRequest {
    ImportGraphRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        content: play.content.clone().into(),
        format: String::new(),
        graph: args.graph.clone().unwrap_or_default(),
        companion: play.companion.clone().into(),
        name: String::new(),
    }
}
