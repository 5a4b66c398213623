//! Replaces a mind's persona, as the mind. Never writes over a persona that its file does not follow.

use std::path::PathBuf;

use anyhow::Context as _;
use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::swarm::v1::{PersonaState, PutPersonaRequest};
use chrono::{DateTime, SecondsFormat, Utc};
use prost_types::Timestamp;
use serde_json::Value;

use super::get;
use crate::ask::ask;
use crate::clock;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::file;

#[derive(Debug, clap::Args)]
pub(super) struct Put {
    /// The whole persona as JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// The instant of the persona that it replaces; the file is then put exactly as it is [default: the file's own `updatedAt`]
    #[arg(long, value_name = "INSTANT", value_parser = clock::instant)]
    over: Option<DateTime<Utc>>,
    /// Which faculty of the mind speaks
    #[arg(long, value_name = "TEXT", default_value = "operator_session")]
    faculty: String,
    /// Which program
    #[arg(long, value_name = "TEXT", default_value = "cambium")]
    agent: String,
    /// Of which conversation [default: the operator's session]
    #[arg(long, value_name = "TEXT")]
    session: Option<String>,
    /// By which tool
    #[arg(long, value_name = "TEXT", default_value = "cambium persona put")]
    tool: String,
}

pub(super) async fn put(args: Put, context: &Context) -> anyhow::Result<Exit> {
    let text = String::from_utf8(file::read(&args.path)?);
    let wrong = |problem: String| Refusal::File {
        path: args.path.clone(),
        problem,
    };
    let text = text.map_err(|error| wrong(error.to_string()))?;
    let connection = context.as_mind().await?;
    let (value_json, expected_updated_at) = match args.over {
        Some(over) => (text, Some(clock::timestamp(over))),
        None => {
            let mind = context.mind().ok_or(Refusal::NoMind)?;
            let stored = get(&connection, context, &mind, 0).await?;
            match stored.state() {
                PersonaState::Absent | PersonaState::Unspecified => (text, None),
                PersonaState::Stored | PersonaState::Unreadable => {
                    let (text, follows) = following(&text, SystemClock.now())
                        .map_err(|error| wrong(format!("{error:#}")))?;
                    (text, Some(follows))
                }
            }
        }
    };
    let request = PutPersonaRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        value_json,
        expected_updated_at,
        faculty: args.faculty,
        agent: args.agent,
        session: args
            .session
            .or_else(|| context.session())
            .unwrap_or_else(|| "none".to_owned()),
        tool: args.tool,
    };
    let reply = ask!(connection, personas.put_persona(request))?;
    context.print(&reply, |reply| {
        format!("version {} is stored", reply.version)
    })?;
    Ok(Exit::Done)
}

/// The persona as of now, and the instant of the one that it follows.
fn following(text: &str, now: DateTime<Utc>) -> anyhow::Result<(String, Timestamp)> {
    let mut value: Value = serde_json::from_str(text).context("it is no JSON")?;
    let instant = value
        .get_mut("updatedAt")
        .context("it has no `updatedAt`")?;
    let follows = instant.as_str().context("`updatedAt` is no text")?;
    let follows = clock::instant(follows).context("`updatedAt` is no instant")?;
    // A stored instant may lie ahead of this clock; what follows it is later all the same.
    let at = now.max(follows + chrono::TimeDelta::milliseconds(1));
    *instant = Value::String(at.to_rfc3339_opts(SecondsFormat::Micros, true));
    Ok((serde_json::to_string(&value)?, clock::timestamp(follows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persona_follows_the_one_it_was_read_from() {
        let now = clock::instant("2026-03-01T09:00:00Z").unwrap();

        let (text, follows) = following(
            r#"{"updatedAt":"2026-02-01T00:00:00Z","values":[0.5]}"#,
            now,
        )
        .unwrap();

        assert_eq!(
            text,
            r#"{"updatedAt":"2026-03-01T09:00:00.000000Z","values":[0.5]}"#
        );
        assert_eq!(
            follows,
            clock::timestamp(clock::instant("2026-02-01").unwrap())
        );
    }

    #[test]
    fn what_follows_is_later_than_what_lies_ahead_of_our_clock() {
        let now = clock::instant("2026-03-01").unwrap();

        let (text, _) = following(r#"{"updatedAt":"2026-03-01T00:01:00Z"}"#, now).unwrap();

        assert_eq!(text, r#"{"updatedAt":"2026-03-01T00:01:00.001000Z"}"#);
        assert!(following("{}", now).is_err());
        assert!(following(r#"{"updatedAt":"soon"}"#, now).is_err());
    }
}
