//! `cambium turns`: the launches of minds, and what each cost.

use cambium_proto::swarm::v1::{ListTurnsRequest, Turn};

use crate::ask::ask;
use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::money::dollars;
use crate::page::{Page, more};
use crate::shell;
use crate::table::{moment, table};

/// List turns, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium turns\n  cambium turns eureka --live --json")]
pub(crate) struct Args {
    /// [default: every mind's]
    #[arg(value_name = "MIND")]
    mind: Option<String>,
    /// Only those that are alive
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut command = "cambium turns".to_owned();
    if let Some(mind) = &args.mind {
        command += &format!(" {}", shell::word(mind));
    }
    command += if args.live { " --live" } else { "" };
    let request = ListTurnsRequest {
        workspace_id: context.workspace(),
        page_size: args.page.page_size,
        page_token: args.page.page_token,
        instance: args.mind.unwrap_or_default(),
        live_only: args.live,
    };
    let reply = ask!(connection, timeline.list_turns(request))?;
    more(&reply.next_page_token, &command, context);
    context.print(&reply, |reply| {
        let head = ["turn", "mind", "state", "cost", "launched", "ended", "run"];
        table(head, reply.turns.iter().map(row))
    })?;
    Ok(Exit::Done)
}

fn row(turn: &Turn) -> [String; 7] {
    [
        turn.turn_id.clone(),
        turn.instance.clone(),
        state(turn),
        cost(turn),
        moment(turn.launch_time.as_ref()),
        moment(turn.end_time.as_ref()),
        match turn.run_id.as_str() {
            "" => "-".to_owned(),
            run => run.to_owned(),
        },
    ]
}

/// How it is, and of one that did not end by itself how it ended.
pub(crate) fn state(turn: &Turn) -> String {
    let state = word(turn.state().as_str_name(), "TURN_STATE_");
    match word(turn.outcome().as_str_name(), "TURN_OUTCOME_").as_str() {
        "unspecified" | "ended" => state,
        outcome => format!("{state}, {outcome}"),
    }
}

/// What it cost; what nobody measured says so.
pub(crate) fn cost(turn: &Turn) -> String {
    match &turn.charge {
        None => "-".to_owned(),
        Some(charge) if charge.measured => dollars(charge.cost_micro_usd),
        Some(charge) => format!("{} unmeasured", dollars(charge.cost_micro_usd)),
    }
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::{Charge, TurnOutcome, TurnState};

    use super::*;

    #[test]
    fn a_turn_that_gave_no_sign_of_life_says_so_and_is_unmeasured() {
        let turn = Turn {
            turn_id: "t1".to_owned(),
            instance: "eureka".to_owned(),
            state: TurnState::Settled.into(),
            outcome: TurnOutcome::Orphaned.into(),
            charge: Some(Charge {
                cost_micro_usd: 250_000,
                ..Charge::default()
            }),
            ..Turn::default()
        };

        let row = row(&turn);

        assert_eq!(row[2], "settled, orphaned");
        assert_eq!(
            (row[3].as_str(), row[6].as_str()),
            ("$0.25 unmeasured", "-")
        );
    }
}
