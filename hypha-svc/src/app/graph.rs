//! Graphs: put, check, import, read; and the pinned form that runs share.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use cambium_formats::{Format, Source};
use cambium_hypha::{Graph, Mind};
use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::receipt;
use sqlx::PgConnection;

use super::App;
use crate::convert;
use crate::convert::page::Page;
use crate::engine::Engine;
use crate::engine::cache::{Pinned, RunInfo};
use crate::error::Error;
use crate::store;
use crate::store::graph::Version;

/// A graph that passed its checks, in the form that is stored.
struct Accepted {
    hash: Vec<u8>,
    spec: Vec<u8>,
    nodes: u32,
    edges: u32,
    warnings: Vec<String>,
}

fn accept(graph: &wire::Graph) -> Result<Accepted, Error> {
    let checked = Graph::check(convert::graph::spec_from_wire(graph)?)?;
    let (hash, spec) = convert::graph::canonical(graph);
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    Ok(Accepted {
        hash,
        spec,
        nodes: count(checked.graph.nodes().len()),
        edges: count(checked.graph.edges().len()),
        warnings: checked.warnings,
    })
}

impl App {
    pub(crate) async fn put_graph(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        graph: &wire::Graph,
    ) -> Result<wire::PutGraphResponse, Error> {
        let accepted = accept(graph)?;
        retry_conflicts(3, || {
            self.store_graph(call, workspace, &graph.name, &accepted)
        })
        .await
    }

    async fn store_graph(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        name: &str,
        accepted: &Accepted,
    ) -> Result<wire::PutGraphResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        let version = put(&mut tx, workspace, name, accepted).await?;
        let reply = wire::PutGraphResponse {
            version: Some(convert::graph::version_to_wire(&version)),
            warnings: accepted.warnings.clone(),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    pub(crate) fn validate_graph(
        graph: &wire::Graph,
    ) -> Result<wire::ValidateGraphResponse, Error> {
        let accepted = accept(graph)?;
        Ok(wire::ValidateGraphResponse {
            hash: convert::graph::hex(&accepted.hash),
            warnings: accepted.warnings,
        })
    }

    pub(crate) async fn import_graph(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        request: &wire::ImportGraphRequest,
    ) -> Result<wire::ImportGraphResponse, Error> {
        let optional = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        let (graph, name) = (optional(&request.graph), optional(&request.name));
        let format = optional(&request.format)
            .map(|text| text.parse::<Format>())
            .transpose()?;
        let imported = cambium_formats::import(&Source {
            content: &request.content,
            companion: (!request.companion.is_empty()).then_some(&request.companion[..]),
            format,
            graph: graph.as_deref(),
            name: name.as_deref(),
        })?;
        let put = self.put_graph(call, workspace, &imported.graph).await?;
        let mut warnings = imported.warnings;
        warnings.extend(put.warnings);
        Ok(wire::ImportGraphResponse {
            version: put.version,
            warnings,
            format: imported.format.to_string(),
        })
    }

    pub(crate) async fn get_graph(
        &self,
        workspace: &WorkspaceId,
        name: &str,
        version: u32,
    ) -> Result<wire::GetGraphResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let version = find(&mut conn, workspace, name, version).await?;
        let spec = store::graph::spec(&mut conn, &version.hash)
            .await?
            .ok_or_else(|| Error::NoGraph(name.to_owned()))?;
        Ok(wire::GetGraphResponse {
            version: Some(convert::graph::version_to_wire(&version)),
            graph: Some(convert::graph::from_stored(&spec, name)?),
        })
    }

    pub(crate) async fn list_graphs(
        &self,
        workspace: &WorkspaceId,
        page: &Page,
    ) -> Result<wire::ListGraphsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = store::graph::list(&mut conn, workspace, &page.after, page.size).await?;
        let last = found.last().map(|version| version.name.clone());
        let is_full = i64::try_from(found.len()).is_ok_and(|length| length == page.size);
        Ok(wire::ListGraphsResponse {
            versions: found.iter().map(convert::graph::version_to_wire).collect(),
            next_page_token: page.next(is_full, &last.unwrap_or_default()),
        })
    }
}

async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    accepted: &Accepted,
) -> Result<Version, Error> {
    store::graph::lock_name(conn, workspace, name).await?;
    if let Some(known) = store::graph::by_content(conn, workspace, name, &accepted.hash).await? {
        return Ok(known);
    }
    store::graph::insert_spec(conn, &accepted.hash, &accepted.spec).await?;
    let (nodes, edges) = (accepted.nodes, accepted.edges);
    Ok(store::graph::insert_next(conn, workspace, name, &accepted.hash, nodes, edges).await?)
}

/// A version, or the newest for 0.
pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    version: u32,
) -> Result<Version, Error> {
    let found = store::graph::version(conn, workspace, name, version).await?;
    found.ok_or_else(|| {
        if version == 0 {
            Error::NoGraph(name.to_owned())
        } else {
            Error::NoVersion {
                name: name.to_owned(),
                version,
            }
        }
    })
}

impl App {
    /// A version and its graph, ready to run. One that is named by number never changes, so it is read once.
    pub(crate) async fn pin(
        &self,
        workspace: &WorkspaceId,
        name: &str,
        version: u32,
        mind: Option<&Mind>,
    ) -> Result<(Version, Arc<Pinned>), Error> {
        let named = (workspace.clone(), name.to_owned(), version);
        let versions = &self.engine.caches.versions;
        if version > 0
            && let Some(known) = versions.get(&named)
            && let Some(pinned) = self.engine.caches.graphs.get(workspace, &known.hash, mind)
        {
            return Ok((known, pinned));
        }
        let mut conn = self.pool.acquire().await?;
        let found = find(&mut conn, workspace, name, version).await?;
        let pinned = pinned(&mut conn, &self.engine, workspace, &found.hash, mind).await?;
        if version > 0 {
            versions.insert(named, found.clone());
        }
        Ok((found, pinned))
    }
}

/// A graph as a workspace runs it: parsed once, with the queue of each node.
pub(crate) async fn pinned(
    conn: &mut PgConnection,
    engine: &Engine,
    workspace: &WorkspaceId,
    hash: &[u8],
    mind: Option<&Mind>,
) -> Result<Arc<Pinned>, Error> {
    if let Some(pinned) = engine.caches.graphs.get(workspace, hash, mind) {
        return Ok(pinned);
    }
    let spec = store::graph::spec(conn, hash)
        .await?
        .ok_or_else(|| Error::NoGraph(convert::graph::hex(hash)))?;
    // The name is no part of the content; any will do for the check.
    let wire = convert::graph::from_stored(&spec, "pinned")?;
    let graph = Graph::check(convert::graph::spec_from_wire(&wire)?)?.graph;
    let queues = queues(conn, engine, workspace, &graph, mind).await?;
    let pinned = Arc::new(Pinned {
        hash: hash.to_vec(),
        graph,
        mind: mind.cloned(),
        queues,
    });
    engine.caches.graphs.insert(workspace, pinned.clone());
    Ok(pinned)
}

async fn queues(
    conn: &mut PgConnection,
    engine: &Engine,
    workspace: &WorkspaceId,
    graph: &Graph,
    mind: Option<&Mind>,
) -> Result<Vec<i32>, Error> {
    let mind = mind.map_or("", Mind::as_str);
    let mut known: HashMap<Vec<String>, i32> = HashMap::new();
    let mut queues = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let requires = convert::graph::requires(node);
        let queue = match known.get(&requires) {
            Some(queue) => *queue,
            None => {
                let queue = store::queue::intern(conn, workspace.as_str(), &requires, mind).await?;
                engine.offers.learn([store::queue::Queue {
                    queue,
                    workspace: workspace.to_string(),
                    requires: requires.clone(),
                    mind: mind.to_owned(),
                }]);
                known.insert(requires, queue);
                queue
            }
        };
        queues.push(queue);
    }
    Ok(queues)
}

/// What never changes about a run, from the cache or the store.
pub(crate) async fn run_info(
    conn: &mut PgConnection,
    engine: &Engine,
    run: RunId,
) -> Result<Arc<RunInfo>, Error> {
    if let Some(info) = engine.caches.runs.get(run) {
        return Ok(info);
    }
    let fixed = store::run::fixed(conn, run)
        .await?
        .ok_or(Error::NoRun(run))?;
    let workspace = WorkspaceId::parse(&fixed.workspace)
        .map_err(|why| Error::field("workspace_id", why.to_string()))?;
    let mind = fixed.turn.as_ref().map(|turn| &turn.mind);
    let info = Arc::new(RunInfo {
        run,
        pinned: pinned(conn, engine, &workspace, &fixed.graph_hash, mind).await?,
        turn: fixed.turn,
        workspace,
        input: Bytes::from(fixed.input),
        reused: Bytes::from(fixed.reused.unwrap_or_default()),
    });
    engine.caches.runs.insert(info.clone());
    Ok(info)
}
