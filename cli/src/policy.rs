//! `cambium policy`: the numbers that generosity goes by.

use cambium_client::Connection;
use cambium_proto::immune::v1::{GetPolicyRequest, GetPolicyResponse, Policy, PutPolicyRequest};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;

/// Show the numbers that generosity goes by, or change some of them
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium policy")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show them
    #[command(after_help = "Example:\n  cambium policy show --json")]
    Show,
    /// Change some; what is not named stays
    #[command(
        after_help = "Example:\n  cambium policy set --hoarding-threshold 0.2 --pair-daily-cap 5"
    )]
    Set(Change),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Change {
    /// Given for an output that another used, 0 to 1
    #[arg(long, value_name = "X")]
    contribution_bonus: Option<f64>,
    /// Taken for consuming without giving, 0 to 1
    #[arg(long, value_name = "X")]
    consumption_penalty: Option<f64>,
    /// Given for a mark of knowledge, 0 to 1
    #[arg(long, value_name = "X")]
    knowledge_share_bonus: Option<f64>,
    /// Below it hoarding is detected
    #[arg(long, value_name = "X")]
    hoarding_threshold: Option<f64>,
    /// Whether overextension is looked for
    #[arg(long, value_name = "BOOL")]
    overextension_check: Option<bool>,
    /// How often a day one agent's use counts for the same giver
    #[arg(long, value_name = "N")]
    pair_daily_cap: Option<i32>,
    /// How many marks of knowledge count a day
    #[arg(long, value_name = "N")]
    share_daily_cap: Option<i32>,
}

impl Change {
    fn of(&self, policy: Policy) -> Policy {
        Policy {
            version: policy.version,
            contribution_bonus: self.contribution_bonus.unwrap_or(policy.contribution_bonus),
            consumption_penalty: self
                .consumption_penalty
                .unwrap_or(policy.consumption_penalty),
            knowledge_share_bonus: self
                .knowledge_share_bonus
                .unwrap_or(policy.knowledge_share_bonus),
            hoarding_threshold: self.hoarding_threshold.unwrap_or(policy.hoarding_threshold),
            overextension_check: self
                .overextension_check
                .unwrap_or(policy.overextension_check),
            pair_daily_cap: self.pair_daily_cap.unwrap_or(policy.pair_daily_cap),
            share_daily_cap: self.share_daily_cap.unwrap_or(policy.share_daily_cap),
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let policy = get(&connection, context).await?;
    match args.what {
        None | Some(What::Show) => context.print(&policy, |reply| told(reply.policy))?,
        Some(What::Set(change)) => {
            let request = PutPolicyRequest {
                workspace_id: context.workspace(),
                request_id: request_id(),
                policy: Some(change.of(policy.policy.unwrap_or_default())),
            };
            let reply = ask!(connection, generosity.put_policy(request))?;
            context.print(&reply, |reply| told(reply.policy))?;
        }
    }
    Ok(Exit::Done)
}

async fn get(connection: &Connection, context: &Context) -> anyhow::Result<GetPolicyResponse> {
    let request = GetPolicyRequest {
        workspace_id: context.workspace(),
    };
    Ok(ask!(connection, generosity.get_policy(request))?)
}

fn told(policy: Option<Policy>) -> String {
    let policy = policy.unwrap_or_default();
    let check = if policy.overextension_check {
        "on"
    } else {
        "off"
    };
    format!(
        "version {}\n  contribution bonus     +{}\n  consumption penalty    -{}\n  knowledge share bonus  +{}\n  hoarding threshold     {}\n  overextension check    {check}\n  pair daily cap         {}\n  share daily cap        {}",
        policy.version,
        policy.contribution_bonus,
        policy.consumption_penalty,
        policy.knowledge_share_bonus,
        policy.hoarding_threshold,
        policy.pair_daily_cap,
        policy.share_daily_cap,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays_and_the_version_is_the_one_it_replaces() {
        let before = Policy {
            version: 4,
            contribution_bonus: 0.03,
            pair_daily_cap: 3,
            overextension_check: true,
            ..Policy::default()
        };
        let change = Change {
            contribution_bonus: None,
            consumption_penalty: None,
            knowledge_share_bonus: None,
            hoarding_threshold: None,
            overextension_check: Some(false),
            pair_daily_cap: Some(5),
            share_daily_cap: None,
        };

        let after = change.of(before);

        let expected = Policy {
            pair_daily_cap: 5,
            overextension_check: false,
            ..before
        };
        assert_eq!(after, expected);
    }
}
