//! `cambium token`: prints a short token for other tools.

use chrono::TimeDelta;
use serde::Serialize;

use crate::clock;
use crate::context::Context;
use crate::credentials::{OPERATOR_LIFE, agent_wish, operator_wish, sign};
use crate::exit::Exit;
use crate::failure::Refusal;

/// Print a token for grpcurl, buf curl and the like; with --as, an agent's
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium token\n  cambium token --as ada --ttl 5m\n\nWith buf, for one (`cambium up` prints the address):\n  buf curl --protocol grpc --http2-prior-knowledge -H \"authorization: Bearer $(cambium token)\" --reflect-header '*' -d '{\"workspace_id\":\"default\"}' http://127.0.0.1:7070/cambium.hypha.v1.RunService/ListRuns"
)]
pub(crate) struct Args {
    /// How long it is good for, as in 90s or 5m; at most 15m
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = life)]
    ttl: TimeDelta,
}

#[derive(Serialize)]
struct Printed {
    token: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let folder = context.folder();
    if !folder.key("operator").exists() {
        return Err(Refusal::NoKey.into());
    }
    let wish = match &context.globals.as_agent {
        None => operator_wish(args.ttl),
        Some(name) => {
            let agent = context.agent(&context.own_connection()?, name).await?;
            agent_wish(&agent.agent_id, &context.workspace(), args.ttl)
        }
    };
    let printed = Printed {
        token: sign(&folder, wish)?,
    };
    context.print_value(&printed, |printed| printed.token.clone())?;
    Ok(Exit::Done)
}

/// Reads a length of time, and holds it to what a token may live.
fn life(text: &str) -> anyhow::Result<TimeDelta> {
    let life = clock::span(text)?;
    anyhow::ensure!(
        life > TimeDelta::zero() && life <= OPERATOR_LIFE,
        "it must be from 1s to 15m"
    );
    Ok(life)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_seconds_or_minutes_up_to_fifteen() {
        assert_eq!(life("90s").unwrap(), TimeDelta::seconds(90));
        assert_eq!(life("5m").unwrap(), TimeDelta::minutes(5));
        assert_eq!(life("30").unwrap(), TimeDelta::seconds(30));
        for bad in ["", "m", "16m", "0s", "1h", "-1s"] {
            assert!(life(bad).is_err(), "{bad}");
        }
    }
}
