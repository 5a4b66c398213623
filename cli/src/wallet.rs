//! `cambium wallet`: the most that may be spent in a period, and when it runs dry.

use cambium_proto::swarm::v1::{
    ForecastWalletRequest, ForecastWalletResponse, Period, SetWalletRequest, SetWalletResponse,
    Wallet,
};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::word;
use crate::mind::warn;
use crate::money::{self, dollars};
use crate::table::moment;

/// Show the wallet and when it runs dry, or set its limit
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium wallet\n  cambium wallet set 20 --per month\n  cambium wallet none"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what is left, and when that is spent
    #[command(after_help = "Example:\n  cambium wallet show --json")]
    Show,
    /// Set the most that may be spent in a period; 0 is nothing at all
    #[command(after_help = "Example:\n  cambium wallet set 20 --per month")]
    Set(Limit),
    /// Do without: the dial alone says how fast money may be spent
    #[command(after_help = "Example:\n  cambium wallet none")]
    None,
}

#[derive(Debug, clap::Args)]
struct Limit {
    /// Dollars
    #[arg(value_name = "USD", value_parser = money::micro_usd)]
    limit: i64,
    /// By the clock of UTC; a week begins on Monday
    #[arg(long, value_enum)]
    per: Per,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Per {
    Day,
    Week,
    Month,
}

impl From<Per> for Period {
    fn from(per: Per) -> Self {
        match per {
            Per::Day => Self::Day,
            Per::Week => Self::Week,
            Per::Month => Self::Month,
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        None | Some(What::Show) => show(context).await,
        Some(What::Set(limit)) => set(Some(limit), context).await,
        Some(What::None) => set(None, context).await,
    }
}

async fn show(context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ForecastWalletRequest {
        workspace_id: context.workspace(),
    };
    let reply = ask!(connection, timeline.forecast_wallet(request))?;
    context.print(&reply, told)?;
    Ok(Exit::Done)
}

async fn set(limit: Option<Limit>, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let period = limit.as_ref().map(|limit| Period::from(limit.per));
    let request = SetWalletRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        limit_micro_usd: limit.map(|limit| limit.limit),
        period: period.unwrap_or_default().into(),
    };
    let reply: SetWalletResponse = ask!(connection, control.set_wallet(request))?;
    context.print(&reply, |reply| line(reply.wallet.as_ref()))?;
    warn(&reply.warnings);
    Ok(Exit::Done)
}

/// The limit, and what of it is gone.
pub(crate) fn line(wallet: Option<&Wallet>) -> String {
    let Some(wallet) = wallet else {
        return "there is no wallet: the dial alone sets the pace".to_owned();
    };
    format!(
        "{} a {}: {} spent, {} held, until {}",
        dollars(wallet.limit_micro_usd),
        word(wallet.period().as_str_name(), "PERIOD_"),
        dollars(wallet.spent_micro_usd),
        dollars(wallet.held_micro_usd),
        moment(wallet.period_end.as_ref()),
    )
}

fn told(reply: &ForecastWalletResponse) -> String {
    let wallet = line(reply.wallet.as_ref());
    if reply.wallet.is_none() {
        return wallet;
    }
    let dry = |at: Option<&prost_types::Timestamp>| match at {
        None => "not in this period".to_owned(),
        at => moment(at),
    };
    let lines = [
        ("left", dollars(reply.remaining_micro_usd)),
        (
            "burns",
            format!("{} an hour", dollars(reply.burn_micro_usd_per_h)),
        ),
        ("dry", dry(reply.expected_dry.as_ref())),
        ("at the earliest", dry(reply.earliest_dry.as_ref())),
    ];
    let lines = lines.map(|(name, value)| format!("\n  {name:<15} {value}"));
    wallet + &lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wallet() -> Wallet {
        Wallet {
            limit_micro_usd: 20_000_000,
            period: Period::Month.into(),
            spent_micro_usd: 1_500_000,
            held_micro_usd: 250_000,
            period_end: Some(prost_types::Timestamp::default()),
            ..Wallet::default()
        }
    }

    #[test]
    fn a_wallet_is_told_with_what_is_gone_of_it() {
        assert_eq!(
            line(Some(&wallet())),
            "$20.00 a month: $1.50 spent, $0.25 held, until 1970-01-01T00:00:00Z"
        );
        assert!(line(None).starts_with("there is no wallet"));
    }

    #[test]
    fn a_wallet_that_outlives_its_period_is_not_dry_in_it() {
        let reply = ForecastWalletResponse {
            wallet: Some(wallet()),
            remaining_micro_usd: 18_250_000,
            burn_micro_usd_per_h: 10_000,
            ..ForecastWalletResponse::default()
        };

        let told = told(&reply);

        assert!(told.contains("\n  left            $18.25\n"), "{told}");
        assert!(
            told.contains("\n  dry             not in this period\n"),
            "{told}"
        );
    }
}
