//! `cambium persona`: who a mind is. Its operator reads it, and reads an older one before importing it; only the mind itself
//! replaces it.

mod put;
mod report;

use std::path::PathBuf;

use cambium_client::Connection;
use cambium_proto::swarm::v1::{
    DiffIdentityRequest, GetPersonaRequest, GetPersonaResponse, ListPersonaVersionsRequest,
    PersonaReceipt, PersonaState, PreviewImportRequest,
};
use clap::Subcommand;
use serde_json::Value;

use crate::ask::ask;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::page::{Page, more};
use crate::table::{moment, table};
use crate::{file, shell};

pub(crate) use report::told_report;

/// Show who a mind is, what changed about it, and what an older persona would become
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium persona show eureka\n  cambium persona diff eureka\n  cambium persona preview remnant.yaml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show a mind's persona
    #[command(
        after_help = "Examples:\n  cambium persona show eureka\n  cambium persona show eureka --version 1 > first.json"
    )]
    Show(Show),
    /// List the versions of a persona, the newest first: who wrote each, and with what
    #[command(after_help = "Example:\n  cambium persona versions eureka")]
    Versions {
        #[arg(value_name = "MIND")]
        mind: String,
        #[command(flatten)]
        page: Page,
    },
    /// Which parts of the identity differ between two versions
    #[command(
        after_help = "Examples:\n  cambium persona diff eureka        # the newest and the one before\n  cambium persona diff eureka 1 4"
    )]
    Diff(Diff),
    /// Show what an older persona would become, in whatever form it was kept; writes nothing
    #[command(after_help = "Example:\n  cambium persona preview remnant.yaml --mind eureka")]
    Preview(Preview),
    /// Replace the persona, as the mind itself: inside `cambium mind operate`
    #[command(
        after_help = "Examples:\n  cambium persona show $CAMBIUM_MIND > me.json\n  cambium persona put me.json\n\nWhat is stored meanwhile is never overwritten: the file says by its `updatedAt` which persona it follows, and gets the instant of now."
    )]
    Put(put::Put),
}

#[derive(Debug, clap::Args)]
struct Show {
    #[arg(value_name = "MIND")]
    mind: String,
    /// [default: the newest]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    version: i32,
}

#[derive(Debug, clap::Args)]
struct Diff {
    #[arg(value_name = "MIND")]
    mind: String,
    /// [default: the one before]
    #[arg(requires = "to")]
    from: Option<i32>,
    /// [default: the newest]
    to: Option<i32>,
}

#[derive(Debug, clap::Args)]
struct Preview {
    /// `-` reads standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Whose it would be: a mind, or one that is still to be opened
    #[arg(long, value_name = "MIND", default_value = "remnant")]
    mind: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Show(args) => show(args, context).await,
        What::Versions { mind, page } => versions(mind, page, context).await,
        What::Diff(args) => diff(args, context).await,
        What::Preview(args) => preview(args, context).await,
        What::Put(args) => put::put(args, context).await,
    }
}

/// A mind's persona; version 0 is the newest.
async fn get(
    connection: &Connection,
    context: &Context,
    mind: &str,
    version: i32,
) -> anyhow::Result<GetPersonaResponse> {
    let request = GetPersonaRequest {
        workspace_id: context.workspace(),
        instance: mind.to_owned(),
        version,
    };
    Ok(ask!(connection, personas.get_persona(request))?)
}

async fn show(args: Show, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let reply = get(&connection, context, &args.mind, args.version).await?;
    if reply.state() == PersonaState::Stored && !context.globals.json {
        hint(&format!(
            "version {} of {}, sha256 {}",
            reply.version,
            moment(reply.update_time.as_ref()),
            reply.sha256
        ));
    }
    context.print(&reply, told)?;
    Ok(Exit::Done)
}

fn told(reply: &GetPersonaResponse) -> String {
    match reply.state() {
        PersonaState::Stored => pretty(&reply.value_json),
        PersonaState::Unreadable => {
            "what is stored cannot be read back: the mind is not launched".to_owned()
        }
        PersonaState::Absent | PersonaState::Unspecified => {
            "there is none yet: the mind's first turn makes it".to_owned()
        }
    }
}

/// JSON with a line for each of its parts; anything else as it is.
pub(crate) fn pretty(json: &[u8]) -> String {
    serde_json::from_slice::<Value>(json)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned())
}

async fn versions(mind: String, page: Page, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let command = format!("cambium persona versions {}", shell::word(&mind));
    let request = ListPersonaVersionsRequest {
        workspace_id: context.workspace(),
        instance: mind,
        page_size: page.page_size,
        page_token: page.page_token,
    };
    let reply = ask!(connection, personas.list_persona_versions(request))?;
    more(&reply.next_page_token, &command, context);
    context.print(&reply, |reply| {
        let head = ["version", "updated", "by", "faculty", "tool", "identity"];
        table(head, reply.versions.iter().map(row))
    })?;
    Ok(Exit::Done)
}

fn row(receipt: &PersonaReceipt) -> [String; 6] {
    let identity = if receipt.identity_changed {
        "changed"
    } else {
        "-"
    };
    [
        receipt.version.to_string(),
        moment(receipt.update_time.as_ref()),
        receipt.author.clone(),
        receipt.faculty.clone(),
        receipt.tool.clone(),
        identity.to_owned(),
    ]
}

async fn diff(args: Diff, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let (from, to) = match (args.from, args.to) {
        (Some(from), Some(to)) => (from, to),
        _ => {
            let newest = get(&connection, context, &args.mind, 0).await?.version;
            newest_two(newest)?
        }
    };
    let request = DiffIdentityRequest {
        workspace_id: context.workspace(),
        instance: args.mind,
        from,
        to,
    };
    let reply = ask!(connection, personas.diff_identity(request))?;
    context.print(&reply, |reply| match reply.parts.as_slice() {
        [] => format!("version {from} and {to} are of the same identity"),
        parts => format!(
            "from version {from} to {to} these differ: {}",
            parts.join(", ")
        ),
    })?;
    Ok(Exit::Done)
}

fn newest_two(newest: i32) -> Result<(i32, i32), Refusal> {
    if newest < 2 {
        let say = "there are no two versions to compare yet";
        return Err(Refusal::Usage(say.to_owned()));
    }
    Ok((newest - 1, newest))
}

async fn preview(args: Preview, context: &Context) -> anyhow::Result<Exit> {
    let bytes = file::read(&args.path)?;
    let connection = context.connection().await?;
    let request = PreviewImportRequest {
        workspace_id: context.workspace(),
        instance: args.mind,
        bytes,
    };
    let reply = ask!(connection, personas.preview_import(request))?;
    if !context.globals.json {
        hint(&told_report(&reply.report));
    }
    context.print(&reply, |reply| pretty(&reply.value_json))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persona_is_printed_as_it_can_be_put_again() {
        let reply = GetPersonaResponse {
            state: PersonaState::Stored.into(),
            value_json: br#"{"personaId":"eureka"}"#.to_vec(),
            ..GetPersonaResponse::default()
        };

        assert_eq!(told(&reply), "{\n  \"personaId\": \"eureka\"\n}");
        assert!(told(&GetPersonaResponse::default()).starts_with("there is none"));
    }

    #[test]
    fn two_versions_are_needed_for_a_difference() {
        assert_eq!(newest_two(4).unwrap(), (3, 4));
        assert!(newest_two(1).is_err());
        assert!(newest_two(0).is_err());
    }
}
