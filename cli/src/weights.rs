//! `cambium weights`: how the eligible agents of a workspace are weighed against each other.

use cambium_client::Connection;
use cambium_proto::hypha::v1::{GetWeightsRequest, GetWeightsResponse, PutWeightsRequest, Weights};
use clap::Subcommand;

use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, request_id};
use crate::exit::Exit;

/// Show what counts when a task chooses among agents, or change it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium weights")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show it
    #[command(after_help = "Example:\n  cambium weights show --json")]
    Show,
    /// Change some; what is not named stays, and the five must come to 1
    #[command(
        after_help = "Examples:\n  cambium weights set --trust 0.3 --capability 0.25\n  cambium weights set --explore-every 10"
    )]
    Set(Change),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Change {
    /// The share of what a node prefers that the agent has, 0 to 1
    #[arg(long, value_name = "X")]
    capability: Option<f64>,
    #[arg(long, value_name = "X")]
    trust: Option<f64>,
    #[arg(long, value_name = "X")]
    health: Option<f64>,
    /// The share of its slots that is free
    #[arg(long, value_name = "X")]
    load: Option<f64>,
    #[arg(long, value_name = "X")]
    generosity: Option<f64>,
    /// One of so many tasks goes to whoever has waited longest; 0: none
    #[arg(long, value_name = "N")]
    explore_every: Option<i32>,
}

impl Change {
    fn of(&self, weights: Weights) -> Weights {
        Weights {
            capability: self.capability.unwrap_or(weights.capability),
            trust: self.trust.unwrap_or(weights.trust),
            health: self.health.unwrap_or(weights.health),
            load: self.load.unwrap_or(weights.load),
            generosity: self.generosity.unwrap_or(weights.generosity),
            explore_every: self.explore_every.unwrap_or(weights.explore_every),
            version: weights.version,
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let weights = get(&connection, context).await?;
    match args.what {
        None | Some(What::Show) => context.print(&weights, |reply| told(reply.weights))?,
        Some(What::Set(change)) => {
            let request = PutWeightsRequest {
                workspace_id: context.workspace(),
                request_id: request_id(),
                weights: Some(change.of(weights.weights.unwrap_or_default())),
            };
            let reply = ask!(connection, matching.put_weights(request))?;
            context.print(&reply, |reply| told(reply.weights))?;
        }
    }
    Ok(Exit::Done)
}

async fn get(connection: &Connection, context: &Context) -> anyhow::Result<GetWeightsResponse> {
    let request = GetWeightsRequest {
        workspace_id: context.workspace(),
    };
    Ok(ask!(connection, matching.get_weights(request))?)
}

fn told(weights: Option<Weights>) -> String {
    let weights = weights.unwrap_or_default();
    let explored = match weights.explore_every {
        0 => "never".to_owned(),
        every => format!("one of {every} goes to whoever has waited longest"),
    };
    format!(
        "version {}\n  capability  {}\n  trust       {}\n  health      {}\n  load        {}\n  generosity  {}\n  explores    {explored}",
        weights.version,
        bar(weights.capability),
        bar(weights.trust),
        bar(weights.health),
        bar(weights.load),
        bar(weights.generosity),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_and_the_version_is_the_one_it_replaces() {
        let before = Weights {
            capability: 0.35,
            trust: 0.2,
            health: 0.15,
            load: 0.15,
            generosity: 0.15,
            explore_every: 20,
            version: 7,
        };
        let change = Change {
            capability: Some(0.25),
            trust: Some(0.3),
            health: None,
            load: None,
            generosity: None,
            explore_every: None,
        };

        let after = change.of(before);

        let expected = Weights {
            capability: 0.25,
            trust: 0.3,
            ..before
        };
        assert_eq!(after, expected);
    }
}
