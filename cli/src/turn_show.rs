//! `cambium turn-show`: one launch in full, with what the scheduler saw.

use cambium_proto::swarm::v1::{GetTurnRequest, Turn, TurnGrant};

use crate::ask::ask;
use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::minds::{haste, share};
use crate::money::dollars;
use crate::table::{moment, table};
use crate::{target, turns};

/// Show one turn, and why it was that mind's
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium turn-show 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10")]
pub(crate) struct Args {
    /// An id, as `cambium turns` shows it
    #[arg(value_name = "TURN")]
    turn: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = GetTurnRequest {
        workspace_id: context.workspace(),
        turn_id: args.turn,
    };
    let reply = ask!(connection, timeline.get_turn(request))?;
    context.print(&reply, |reply| {
        let turn = reply.turn.clone().unwrap_or_default();
        told(&turn, reply.grant.as_ref())
    })?;
    Ok(Exit::Done)
}

fn told(turn: &Turn, grant: Option<&TurnGrant>) -> String {
    let cap = dollars(turn.cap_micro_usd);
    let mut lines = vec![
        ("mind", turn.instance.clone()),
        ("state", turns::state(turn)),
        ("cost", format!("{} of at most {cap}", turns::cost(turn))),
        ("target", target::shown(turn.target.as_ref())),
        ("slot", format!("{}, epoch {}", turn.slot, turn.epoch)),
        ("share", share(turn.share_ppm)),
        ("haste", haste(turn.haste_ppm)),
        ("launched", moment(turn.launch_time.as_ref())),
        ("deadline", moment(turn.deadline.as_ref())),
        ("ended", moment(turn.end_time.as_ref())),
    ];
    let texts = [("run", &turn.run_id), ("taken by", &turn.holder)];
    let said = texts.into_iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(name, text)| (name, text.clone())));
    let lines = lines.into_iter();
    let lines: String = lines
        .map(|(name, value)| format!("\n  {name:<9} {value}"))
        .collect();
    let seen = grant.map(seen).unwrap_or_default();
    format!("{}{lines}{seen}", turn.turn_id)
}

/// Who was runnable, in order.
fn seen(grant: &TurnGrant) -> String {
    let rows = grant.candidates.iter().map(|one| {
        let mut passed = grant.passed_over.iter();
        let passed = passed.find(|passed| passed.instance == one.instance);
        let passed = passed.map(|passed| word(passed.why().as_str_name(), "WHY_"));
        [
            one.instance.clone(),
            dollars(one.vtime),
            share(one.effective_ppm),
            passed.unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let rows = table(["candidate", "vtime", "share", "passed over"], rows);
    format!(
        "\n\nbucket {}, {} reserved, {} of {} alive\n{rows}",
        dollars(grant.bucket_micro_usd),
        dollars(grant.reserved_micro_usd),
        grant.live,
        grant.k,
    )
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::{Candidate, PassedOver, Why};

    use super::*;

    #[test]
    fn a_turn_is_told_with_who_else_might_have_had_it() {
        let turn = Turn {
            turn_id: "t1".to_owned(),
            instance: "weksa".to_owned(),
            cap_micro_usd: 250_000,
            ..Turn::default()
        };
        let candidate = |instance: &str| Candidate {
            instance: instance.to_owned(),
            effective_ppm: 1_000_000,
            ..Candidate::default()
        };
        let grant = TurnGrant {
            candidates: vec![candidate("eureka"), candidate("weksa")],
            passed_over: vec![PassedOver {
                instance: "eureka".to_owned(),
                why: Why::Brake.into(),
            }],
            k: 1,
            ..TurnGrant::default()
        };

        let told = told(&turn, Some(&grant));

        assert!(told.starts_with("t1\n  mind      weksa\n"), "{told}");
        assert!(
            told.contains("\neureka     $0.00  1      brake\n"),
            "{told}"
        );
        assert!(told.ends_with("weksa      $0.00  1      -"), "{told}");
    }
}
