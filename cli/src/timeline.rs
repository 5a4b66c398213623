//! `cambium timeline`: whose turn it is, whose comes next, and what happens on it.

mod watch;

use cambium_proto::swarm::v1::{
    GetTimelineRequest, GetTimelineResponse, PreviewTurnsRequest, PreviewTurnsResponse,
    ResetTimelineRequest, TimelineMind,
};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::minds::{haste, share};
use crate::money::dollars;
use crate::table::table;
use crate::wallet;

/// Show how the minds stand on the timeline, or the order of their next turns
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  cambium timeline\n  cambium timeline --next 10\n  cambium timeline watch\n\nWho has used least for its share goes next: vtime is what a mind's turns cost, by its share."
)]
pub(crate) struct Args {
    /// The order of so many turns, up to 50, instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=50))]
    next: Option<i32>,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Watch(watch::Watch),
    /// Start every mind anew at 0; what was spent stays spent
    #[command(
        after_help = "Example:\n  cambium timeline reset --reason 'the shares were wrong for a week'"
    )]
    Reset {
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match (args.what, args.next) {
        (Some(What::Watch(args)), _) => watch::watch(args, context).await,
        (Some(What::Reset { reason }), _) => reset(reason, context).await,
        (None, Some(n)) => preview(n, context).await,
        (None, None) => show(context).await,
    }
}

async fn show(context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = GetTimelineRequest {
        workspace_id: context.workspace(),
    };
    let reply = ask!(connection, timeline.get_timeline(request))?;
    context.print(&reply, told)?;
    Ok(Exit::Done)
}

async fn preview(n: i32, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = PreviewTurnsRequest {
        workspace_id: context.workspace(),
        n,
    };
    let reply = ask!(connection, timeline.preview_turns(request))?;
    context.print(&reply, told_preview)?;
    hint("this is an order, not a time table");
    Ok(Exit::Done)
}

async fn reset(reason: String, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ResetTimelineRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        reason,
    };
    let reply = ask!(connection, control.reset_timeline(request))?;
    context.print(&reply, |_| "every mind starts anew at 0".to_owned())?;
    Ok(Exit::Done)
}

fn told(reply: &GetTimelineResponse) -> String {
    let head = format!(
        "{} of {} turns alive\nbucket  {}, {} reserved, at most {}\nwallet  {}\n\n",
        reply.live,
        reply.k,
        dollars(reply.bucket_micro_usd),
        dollars(reply.reserved_micro_usd),
        dollars(reply.burst_micro_usd),
        wallet::line(reply.wallet.as_ref()),
    );
    let columns = ["name", "vtime", "share", "lent", "haste", "stands"];
    head + &table(columns, reply.minds.iter().map(row))
}

fn row(mind: &TimelineMind) -> [String; 6] {
    [
        mind.instance.clone(),
        dollars(mind.vtime),
        share(mind.share_ppm),
        lent(mind.share_ppm - mind.effective_ppm),
        haste(mind.haste_ppm),
        stands(mind),
    ]
}

/// What is lent, or borrowed with a plus.
fn lent(ppm: i64) -> String {
    match ppm {
        0 => "-".to_owned(),
        lent if lent > 0 => share(lent),
        borrowed => format!("+{}", share(borrowed.saturating_neg())),
    }
}

fn stands(mind: &TimelineMind) -> String {
    let acting = match mind.live_turn_id.as_str() {
        "" if mind.member => "waits".to_owned(),
        "" => "off".to_owned(),
        turn => format!("acts in {turn}"),
    };
    match mind.infeasible {
        true => format!("{acting}, share out of reach"),
        false => acting,
    }
}

fn told_preview(reply: &PreviewTurnsResponse) -> String {
    let rows = reply.turns.iter().zip(1..).map(|(turn, place)| {
        let place: i32 = place;
        [
            place.to_string(),
            turn.instance.clone(),
            dollars(turn.assumed_cost_micro_usd),
        ]
    });
    table(["turn", "mind", "if it costs"], rows)
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::PreviewedTurn;

    use super::*;

    fn mind(instance: &str) -> TimelineMind {
        TimelineMind {
            instance: instance.to_owned(),
            share_ppm: 2_000_000,
            effective_ppm: 2_000_000,
            haste_ppm: 1_000_000,
            member: true,
            ..TimelineMind::default()
        }
    }

    #[test]
    fn a_timeline_is_told_with_its_money() {
        let lender = TimelineMind {
            vtime: 12_500,
            effective_ppm: 1_500_000,
            live_turn_id: "t1".to_owned(),
            infeasible: true,
            ..mind("eureka")
        };
        let reply = GetTimelineResponse {
            minds: vec![lender, mind("weksa")],
            bucket_micro_usd: -500_000,
            k: 2,
            live: 1,
            ..GetTimelineResponse::default()
        };

        let told = told(&reply);

        assert!(
            told.starts_with("1 of 2 turns alive\nbucket  -$0.50, "),
            "{told}"
        );
        assert!(
            told.contains("eureka  $0.0125  2      0.5   -      acts in t1, share out of reach"),
            "{told}"
        );
        assert!(
            told.ends_with("weksa   $0.00    2      -     -      waits"),
            "{told}"
        );
    }

    #[test]
    fn what_is_borrowed_has_a_plus() {
        assert_eq!(lent(-500_000), "+0.5");
        assert_eq!(lent(0), "-");
    }

    #[test]
    fn turns_to_come_are_numbered() {
        let turn = PreviewedTurn {
            instance: "eureka".to_owned(),
            assumed_cost_micro_usd: 250_000,
        };
        let reply = PreviewTurnsResponse { turns: vec![turn] };

        assert_eq!(
            told_preview(&reply),
            "TURN  MIND    IF IT COSTS\n1     eureka  $0.25"
        );
    }
}
