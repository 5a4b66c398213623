//! `cambium dial`: how fast money may be spent, how much a turn may cost, how many are alive at once.

use cambium_client::Connection;
use cambium_proto::swarm::v1::{
    Dial, GetControlRequest, GetControlResponse, Reserve, SetDialRequest,
};
use chrono::TimeDelta;
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::json::word;
use crate::mind::warn;
use crate::money::{self, dollars};
use crate::{clock, millionths};

const ONE: i64 = 1_000_000;

/// Show the dial, or turn it: pace, cap of a turn, turns at once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium dial\n  cambium dial set --rate 2 --run 0.25")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show it, and what follows from it
    #[command(after_help = "Example:\n  cambium dial show --json")]
    Show,
    /// Turn it; what is not named stays
    #[command(
        after_help = "Examples:\n  cambium dial set --rate 2 --run 0.25\n  cambium dial set --heat 0.5\n  cambium dial set --k 3 --turn-max 1h --json\n\nThe pace is the rate times the heat, and the most that a turn may cost is the run times the heat. Without a dial nothing is launched: the first time --rate and --run are needed."
    )]
    Set(Change),
}

#[derive(Clone, Debug, Default, clap::Args)]
#[group(required = true, multiple = true)]
struct Change {
    /// The one knob: 1 is as said below, from 0.05 to 2
    #[arg(long, value_name = "X", value_parser = millionths::number)]
    heat: Option<i64>,
    /// Dollars an hour
    #[arg(long, value_name = "USD", value_parser = money::micro_usd)]
    rate: Option<i64>,
    /// The most dollars of one turn
    #[arg(long, value_name = "USD", value_parser = money::micro_usd)]
    run: Option<i64>,
    /// How many turns are alive at once, at most
    #[arg(long, value_name = "N")]
    k: Option<i64>,
    /// How many dollars may be saved up [default: enough for k turns at once]
    #[arg(long, value_name = "USD", value_parser = money::micro_usd)]
    burst: Option<i64>,
    /// What a turn counts at least on the timeline, in dollars; it is not charged [default: 0.001, or the cap]
    #[arg(long, value_name = "USD", value_parser = money::micro_usd)]
    floor: Option<i64>,
    /// Whether the cap of a live turn is held back
    #[arg(long, value_name = "WHAT", value_enum)]
    reserve: Option<Kept>,
    /// How long a turn may take, as in 30m or 6h, up to 24h [default: 6h]
    #[arg(long, value_name = "TIME", value_parser = clock::span)]
    turn_max: Option<TimeDelta>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kept {
    Cap,
    None,
}

impl From<Kept> for Reserve {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Cap => Self::Cap,
            Kept::None => Self::None,
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let control = get(&connection, &context.workspace()).await?;
    let Some(What::Set(change)) = args.what else {
        context.print(&control, |control| told(control.dial.as_ref()))?;
        return Ok(Exit::Done);
    };
    let is_first = control.dial.is_none();
    let request = change.of(control.dial, &context.workspace())?;
    let reply = ask!(connection, control.set_dial(request))?;
    context.print(&reply, |reply| told(reply.dial.as_ref()))?;
    warn(&reply.warnings);
    if is_first && !context.globals.json {
        hint(&format!(
            "next: cambium timeline{}",
            context.globals.again()
        ));
    }
    Ok(Exit::Done)
}

/// All that the operator has set.
pub(crate) async fn get(
    connection: &Connection,
    workspace: &str,
) -> anyhow::Result<GetControlResponse> {
    let request = GetControlRequest {
        workspace_id: workspace.to_owned(),
    };
    Ok(ask!(connection, control.get_control(request))?)
}

impl Change {
    /// The dial with this changed. What it holds only because it was left out before is left out again.
    fn of(self, before: Option<Dial>, workspace: &str) -> Result<SetDialRequest, Refusal> {
        let is_first = before.is_none();
        if is_first && (self.rate.is_none() || self.run.is_none()) {
            let say = "there is no dial yet: say --rate and --run";
            return Err(Refusal::Usage(say.to_owned()));
        }
        let before = before.unwrap_or(Dial {
            heat_ppm: ONE,
            k: 1,
            reserve: Reserve::Cap.into(),
            ..Dial::default()
        });
        let kept = |value: i64, usual: i64| (!is_first && value != usual).then_some(value);
        Ok(SetDialRequest {
            workspace_id: workspace.to_owned(),
            request_id: request_id(),
            heat_ppm: self.heat.unwrap_or(before.heat_ppm),
            base_rate_micro_usd_per_h: self.rate.unwrap_or(before.base_rate_micro_usd_per_h),
            base_run_micro_usd: self.run.unwrap_or(before.base_run_micro_usd),
            k: self.k.unwrap_or(before.k),
            reserve: self
                .reserve
                .map_or(before.reserve, |kept| Reserve::from(kept).into()),
            burst_micro_usd: self
                .burst
                .or_else(|| kept(before.burst_micro_usd, usual_burst(&before))),
            floor_micro_usd: self
                .floor
                .or_else(|| kept(before.floor_micro_usd, before.cap_micro_usd.min(1_000))),
            turn_max_s: self
                .turn_max
                .map(|span| span.num_seconds())
                .or_else(|| kept(before.turn_max_s, 21_600)),
        })
    }
}

/// What is stored where no burst is said.
fn usual_burst(dial: &Dial) -> i64 {
    match dial.reserve() {
        Reserve::None => 0,
        Reserve::Cap | Reserve::Unspecified => {
            dial.cap_micro_usd.saturating_mul(dial.k.saturating_sub(1))
        }
    }
}

pub(crate) fn told(dial: Option<&Dial>) -> String {
    let Some(dial) = dial else {
        return "there is no dial: nothing is launched".to_owned();
    };
    let rate = dollars(dial.base_rate_micro_usd_per_h);
    let run = dollars(dial.base_run_micro_usd);
    let heat = millionths::shown(dial.heat_ppm, 0);
    let lines = [
        (
            "pace",
            format!(
                "{} an hour: {rate} at heat {heat}",
                dollars(dial.pace_micro_usd_per_h)
            ),
        ),
        (
            "cap",
            format!(
                "{} a turn: {run} at heat {heat}",
                dollars(dial.cap_micro_usd)
            ),
        ),
        (
            "at once",
            format!("{}, of which {} fit the burst", dial.k, dial.fits),
        ),
        ("burst", dollars(dial.burst_micro_usd)),
        ("reserve", word(dial.reserve().as_str_name(), "RESERVE_")),
        ("floor", dollars(dial.floor_micro_usd)),
        ("turn at most", clock::length(dial.turn_max_s)),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<13} {value}"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dial() -> Dial {
        Dial {
            heat_ppm: ONE,
            base_rate_micro_usd_per_h: 2_000_000,
            base_run_micro_usd: 250_000,
            k: 2,
            reserve: Reserve::Cap.into(),
            burst_micro_usd: 250_000,
            floor_micro_usd: 1_000,
            turn_max_s: 21_600,
            pace_micro_usd_per_h: 2_000_000,
            cap_micro_usd: 250_000,
            fits: 2,
            ..Dial::default()
        }
    }

    #[test]
    fn the_first_dial_needs_a_rate_and_a_run() {
        let change = Change {
            rate: Some(2_000_000),
            ..Change::default()
        };

        let refused = change.clone().of(None, "default").unwrap_err().to_string();
        let whole = Change {
            run: Some(250_000),
            ..change
        };
        let request = whole.of(None, "default").unwrap();

        assert!(refused.contains("--rate and --run"), "{refused}");
        assert_eq!((request.heat_ppm, request.k), (ONE, 1));
        assert_eq!((request.burst_micro_usd, request.turn_max_s), (None, None));
    }

    #[test]
    fn what_is_not_named_stays_and_what_follows_follows() {
        let more = Change {
            k: Some(3),
            ..Change::default()
        };

        let request = more.of(Some(dial()), "default").unwrap();

        assert_eq!(request.base_rate_micro_usd_per_h, 2_000_000);
        assert_eq!((request.k, request.reserve()), (3, Reserve::Cap));
        // The burst was what k asks for, and is to be so again.
        assert_eq!(
            (request.burst_micro_usd, request.floor_micro_usd),
            (None, None)
        );
    }

    #[test]
    fn a_burst_that_was_chosen_is_kept() {
        let before = Dial {
            burst_micro_usd: 1_000_000,
            turn_max_s: 60,
            ..dial()
        };
        let hotter = Change {
            heat: Some(ONE / 2),
            ..Change::default()
        };

        let request = hotter.of(Some(before), "default").unwrap();

        assert_eq!(request.burst_micro_usd, Some(1_000_000));
        assert_eq!(request.turn_max_s, Some(60));
    }

    #[test]
    fn a_dial_is_told_with_what_follows_from_it() {
        let told_dial = told(Some(&dial()));

        assert!(
            told_dial.starts_with("pace          $2.00 an hour: $2.00 at heat 1\n"),
            "{told_dial}"
        );
        assert!(
            told_dial.contains("at once       2, of which 2 fit the burst"),
            "{told_dial}"
        );
        assert!(told_dial.ends_with("turn at most  6 h"), "{told_dial}");
        assert!(told(None).contains("nothing is launched"));
    }
}
