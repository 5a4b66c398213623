//! `cambium graph`: stored graphs.

use std::path::PathBuf;

use cambium_client::Connection;
use cambium_formats::{Imported, Source};
use cambium_proto::hypha::v1::{
    GetGraphRequest, Graph, ImportGraphRequest, ListGraphsRequest, ValidateGraphRequest,
};
use clap::Subcommand;

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::table::table;
use crate::{file, run};

/// Store, check and show graphs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium graph put graph.yaml\n  cambium graph list")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Store the graph of a file; the same content is the same version
    #[command(
        after_help = "Example:\n  cambium graph put tasks.yaml --agents agents.yaml --name crew"
    )]
    Put(File),
    /// Check the graph of a file, and store nothing
    #[command(after_help = "Example:\n  cambium graph validate graph.yaml")]
    Validate(File),
    /// Show a stored graph in our own form
    #[command(after_help = "Example:\n  cambium graph show report --version 1")]
    Show(Show),
    /// List stored graphs
    #[command(after_help = "Example:\n  cambium graph list --json")]
    List(List),
}

/// A file that holds a graph.
#[derive(Debug, clap::Args)]
pub(crate) struct File {
    /// Our YAML or JSON, WfFormat, CrewAI, Argo, GitHub Actions or dbt, gzipped or not; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// Which graph of the file [default: the file's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) graph: Option<String>,
    /// CrewAI's agents.yaml
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,
    /// cambium, wfformat, crewai, argo, github-actions or dbt [default: recognised]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Call the graph this [default: as the file says]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl File {
    pub(crate) fn request(&self, context: &Context) -> anyhow::Result<ImportGraphRequest> {
        Ok(ImportGraphRequest {
            workspace_id: context.workspace(),
            request_id: request_id(),
            content: file::read(&self.path)?.into(),
            format: self.format.clone().unwrap_or_default(),
            graph: self.graph.clone().unwrap_or_default(),
            companion: file::read_if(self.agents.as_ref())?,
            name: self.name.clone().unwrap_or_default(),
        })
    }

    /// Reads the graph here, without a service.
    pub(crate) fn import(&self) -> anyhow::Result<Imported> {
        let content = file::read(&self.path)?;
        let companion = self
            .agents
            .as_ref()
            .map(|path| file::read(path))
            .transpose()?;
        let imported = cambium_formats::import(&Source {
            content: &content,
            companion: companion.as_deref(),
            format: self.format.as_deref().map(str::parse).transpose()?,
            graph: self.graph.as_deref(),
            name: self.name.as_deref(),
        })?;
        for warning in &imported.warnings {
            hint(&format!("warning: {warning}"));
        }
        Ok(imported)
    }
}

#[derive(Debug, clap::Args)]
struct Show {
    name: String,
    /// 0 is the newest
    #[arg(long, default_value_t = 0)]
    version: u32,
}

#[derive(Debug, clap::Args)]
struct List {
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    match args.verb {
        Verb::Put(file) => put(&file, context, &connection).await?,
        Verb::Validate(file) => validate(&file, context, &connection).await?,
        Verb::Show(wanted) => show(wanted, context, &connection).await?,
        Verb::List(wanted) => list(wanted, context, &connection).await?,
    }
    Ok(Exit::Done)
}

async fn put(file: &File, context: &Context, connection: &Connection) -> anyhow::Result<()> {
    let reply = run::import(connection, file.request(context)?).await?;
    context.print(&reply, |reply| run::titled(reply.version.as_ref()))
}

async fn validate(file: &File, context: &Context, connection: &Connection) -> anyhow::Result<()> {
    let graph = file.import()?.graph;
    let size = size(&graph);
    let request = ValidateGraphRequest {
        workspace_id: context.workspace(),
        graph: Some(graph),
    };
    let reply = connection.retrying(|| {
        let (mut graphs, request) = (connection.graphs(), request.clone());
        async move { graphs.validate_graph(request).await }
    });
    let reply = reply.await?;
    for warning in &reply.warnings {
        hint(&format!("warning: {warning}"));
    }
    context.print(&reply, |reply| {
        format!("sound: {size}, sha256 {}", reply.hash)
    })
}

async fn show(wanted: Show, context: &Context, connection: &Connection) -> anyhow::Result<()> {
    let request = GetGraphRequest {
        workspace_id: context.workspace(),
        name: wanted.name,
        version: wanted.version,
    };
    let reply = connection.retrying(|| {
        let (mut graphs, request) = (connection.graphs(), request.clone());
        async move { graphs.get_graph(request).await }
    });
    let reply = reply.await?;
    hint(&run::titled(reply.version.as_ref()));
    context.print(&reply, |reply| {
        reply
            .graph
            .as_ref()
            .map(cambium_formats::to_yaml)
            .unwrap_or_default()
    })
}

async fn list(wanted: List, context: &Context, connection: &Connection) -> anyhow::Result<()> {
    let request = ListGraphsRequest {
        workspace_id: context.workspace(),
        page_size: wanted.page_size,
        page_token: wanted.page_token,
    };
    let reply = connection.retrying(|| {
        let (mut graphs, request) = (connection.graphs(), request.clone());
        async move { graphs.list_graphs(request).await }
    });
    let reply = reply.await?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        hint(&format!(
            "more: cambium graph list --page-token {}",
            reply.next_page_token
        ));
    }
    context.print(&reply, |reply| {
        let rows = reply.versions.iter().map(|version| {
            let numbers =
                [version.version, version.nodes, version.edges].map(|number| number.to_string());
            let [number, nodes, edges] = numbers;
            let hash = version.hash.chars().take(12).collect();
            [version.name.clone(), number, nodes, edges, hash]
        });
        table(["name", "version", "nodes", "edges", "hash"], rows)
    })
}

/// How large a graph is, for people.
pub(crate) fn size(graph: &Graph) -> String {
    format!("{} nodes, {} edges", graph.nodes.len(), graph.edges.len())
}
