//! A mind's move to another house: taken out of one, taken into another, and ended in the first. What is between them is a file.

use std::path::PathBuf;

use anyhow::Context as _;
use cambium_proto::swarm::v1::{
    CompleteTransferRequest, ExportMindRequest, ReceiveMindRequest, ReceiveMindResponse,
};
use serde_json::Value;

use super::line;
use crate::ask::ask;
use crate::context::{Context, emit, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::folder::write_private;
use crate::{file, shell};

/// A part of a bundle, in bytes.
const PART: usize = 256 * 1024;

/// Print all that a mind is and wrote, for another house; it must be asleep
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mind export eureka --to eureka.jsonl\n\nThe other house takes it in with `cambium mind receive`; `cambium mind moved` then ends it here."
)]
pub(super) struct Export {
    #[arg(value_name = "MIND")]
    mind: String,
    /// Write it to this file, for its owner's eyes only [default: print it]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

pub(super) async fn export(args: Export, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ExportMindRequest {
        workspace_id: context.workspace(),
        instance: args.mind.clone(),
    };
    let mut parts = connection.minds().export_mind(request).await?.into_inner();
    let mut bundle = Vec::new();
    while let Some(part) = parts.message().await? {
        bundle.extend_from_slice(&part.chunk);
    }
    let bundle = String::from_utf8(bundle).context("the bundle is no text")?;
    match &args.to {
        None => emit(&bundle),
        Some(path) => write_private(path, &bundle)?,
    }
    let sha256 = digest(&bundle).context("the bundle has no digest")?;
    hint(&format!("the bundle's sha256 is {sha256}"));
    Ok(Exit::Done)
}

/// Take in a mind from another house; its brake is held, and it has no share
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mind receive eureka.jsonl --host 'the house by the river'"
)]
pub(super) struct Receive {
    /// What `cambium mind export` wrote; `-` reads standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Where it lives from now on, in a line
    #[arg(long, value_name = "TEXT", default_value = "here")]
    host: String,
}

pub(super) async fn receive(args: Receive, context: &Context) -> anyhow::Result<Exit> {
    let bundle = file::read(&args.path)?;
    let connection = context.connection().await?;
    let first = ReceiveMindRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        host: args.host,
        chunk: Vec::new(),
    };
    let parts = parts(first, &bundle);
    let call = || {
        let (mut minds, parts) = (connection.minds(), parts.clone());
        async move { minds.receive_mind(tokio_stream::iter(parts)).await }
    };
    let reply: ReceiveMindResponse = connection.retrying(call).await?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    let mind = reply.mind.unwrap_or_default().instance;
    hint(&format!(
        "next, where it came from: cambium mind moved {} --to HOST --bundle FILE",
        shell::word(&mind)
    ));
    Ok(Exit::Done)
}

/// The bundle in parts; the first message says where to, and carries nothing.
fn parts(first: ReceiveMindRequest, bundle: &[u8]) -> Vec<ReceiveMindRequest> {
    let parts = bundle.chunks(PART).map(|part| ReceiveMindRequest {
        chunk: part.to_vec(),
        ..ReceiveMindRequest::default()
    });
    std::iter::once(first).chain(parts).collect()
}

/// End a mind here that another house has taken in: from then on it can only be read
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mind moved eureka --to 'the house by the river' --bundle eureka.jsonl"
)]
pub(super) struct Moved {
    #[arg(value_name = "MIND")]
    mind: String,
    /// Where it lives now, in a line
    #[arg(long, value_name = "TEXT")]
    to: String,
    /// What was taken in there
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
}

pub(super) async fn moved(args: Moved, context: &Context) -> anyhow::Result<Exit> {
    let bundle = String::from_utf8_lossy(&file::read(&args.bundle)?).into_owned();
    let bundle_sha256 = digest(&bundle).ok_or_else(|| Refusal::File {
        path: args.bundle.clone(),
        problem: "it is no mind's bundle".to_owned(),
    })?;
    let connection = context.connection().await?;
    let request = CompleteTransferRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        to_host: args.to,
        bundle_sha256,
    };
    let reply = ask!(connection, minds.complete_transfer(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

/// What a bundle's last line says of those before it.
fn digest(bundle: &str) -> Option<String> {
    let last: Value = serde_json::from_str(bundle.lines().next_back()?).ok()?;
    Some(last.get("sha256")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundles_digest_is_on_its_last_line() {
        let bundle = "{\"sha256\":\"no\"}\n{\"count\":1,\"sha256\":\"ab\"}\n";

        assert_eq!(digest(bundle).as_deref(), Some("ab"));
        for bad in ["", "x", "{}", "[]"] {
            assert_eq!(digest(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_bundle_goes_in_parts_after_who_asks() {
        let first = ReceiveMindRequest {
            host: "here".to_owned(),
            ..ReceiveMindRequest::default()
        };

        let parts = parts(first, &vec![1; PART + 1]);

        let sizes: Vec<usize> = parts.iter().map(|part| part.chunk.len()).collect();
        assert_eq!(sizes, [0, PART, 1]);
        assert_eq!(
            (parts[0].host.as_str(), parts[1].host.as_str()),
            ("here", "")
        );
    }
}
