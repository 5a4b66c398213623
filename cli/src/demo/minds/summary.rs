//! What the turns came to: what each mind has spent, against its part of everything that was spent by its share. The figures are those of
//! the services; the laws are checked by the oracle.

use cambium_client::Connection;
use cambium_proto::swarm::v1::{
    GetTimelineRequest, ListTurnsRequest, TimelineMind, Turn, TurnState,
};
use serde::Serialize;

use super::WORKSPACE;
use crate::ask::ask;
use crate::exit::Exit;
use crate::fsck::Verdict;
use crate::money;
use crate::table;

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    swarm: Swarm,
}

#[derive(Debug, Serialize)]
struct Swarm {
    turns: usize,
    spent_micro_usd: i64,
    minds: Vec<Mind>,
    max_live: usize,
    wallet: Wallet,
    violations: usize,
}

#[derive(Debug, Serialize)]
struct Mind {
    name: String,
    share_ppm: i64,
    haste_ppm: i64,
    turns: usize,
    spent_micro_usd: i64,
    entitled_micro_usd: i64,
}

#[derive(Debug, Serialize)]
struct Wallet {
    limit_micro_usd: i64,
    spent_micro_usd: i64,
    reserved_micro_usd: i64,
}

impl Summary {
    pub(super) async fn of(operator: &Connection, verdicts: &[Verdict]) -> anyhow::Result<Self> {
        let request = GetTimelineRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let timeline = ask!(operator, timeline.get_timeline(request))?;
        let turns = settled(operator).await?;
        let spent = turns.iter().map(cost).sum();
        let wallet = timeline.wallet.unwrap_or_default();
        Ok(Self {
            swarm: Swarm {
                turns: turns.len(),
                spent_micro_usd: spent,
                minds: minds(&timeline.minds, &turns, spent),
                max_live: most_at_once(&turns),
                wallet: Wallet {
                    limit_micro_usd: wallet.limit_micro_usd,
                    spent_micro_usd: wallet.spent_micro_usd,
                    reserved_micro_usd: wallet.held_micro_usd,
                },
                violations: verdicts.iter().map(|verdict| verdict.violations).sum(),
            },
        })
    }

    pub(super) fn exit(&self) -> Exit {
        if self.swarm.violations > 0 {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    pub(super) fn for_people(&self) -> String {
        let swarm = &self.swarm;
        let rows = swarm.minds.iter().map(|mind| {
            [
                mind.name.clone(),
                crate::millionths::shown(mind.share_ppm, 0),
                mind.turns.to_string(),
                money::dollars(mind.spent_micro_usd),
                money::dollars(mind.entitled_micro_usd),
            ]
        });
        format!(
            "{}\n\n{} turns for {}, at most {} at once; the wallet holds {} more; {} violations of the laws",
            table::table(["mind", "share", "turns", "spent", "entitled"], rows),
            swarm.turns,
            money::dollars(swarm.spent_micro_usd),
            swarm.max_live,
            money::dollars(swarm.wallet.limit_micro_usd - swarm.wallet.spent_micro_usd),
            swarm.violations
        )
    }
}

/// Every turn that has its charge.
async fn settled(operator: &Connection) -> anyhow::Result<Vec<Turn>> {
    let mut turns = Vec::new();
    let mut request = ListTurnsRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: 100,
        ..ListTurnsRequest::default()
    };
    loop {
        let page = ask!(operator, timeline.list_turns(request.clone()))?;
        turns.extend(page.turns);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    turns.retain(|turn| turn.state() == TurnState::Settled);
    Ok(turns)
}

fn cost(turn: &Turn) -> i64 {
    turn.charge
        .as_ref()
        .map_or(0, |charge| charge.cost_micro_usd)
}

/// In the order of their shares.
fn minds(known: &[TimelineMind], turns: &[Turn], spent: i64) -> Vec<Mind> {
    let all: i64 = known.iter().map(|mind| mind.share_ppm).sum();
    let mut minds: Vec<Mind> = known
        .iter()
        .map(|mind| {
            let own = || turns.iter().filter(|turn| turn.instance == mind.instance);
            Mind {
                name: mind.instance.clone(),
                share_ppm: mind.share_ppm,
                haste_ppm: mind.haste_ppm,
                turns: own().count(),
                spent_micro_usd: own().map(cost).sum(),
                entitled_micro_usd: part(spent, mind.share_ppm, all),
            }
        })
        .collect();
    minds.sort_by_key(|mind| std::cmp::Reverse(mind.share_ppm));
    minds
}

/// A part of a sum, rounded down.
fn part(sum: i64, share: i64, all: i64) -> i64 {
    let part = i128::from(sum) * i128::from(share) / i128::from(all.max(1));
    i64::try_from(part).unwrap_or(i64::MAX)
}

/// The most turns that were alive at one instant. One that begins as another ends is after it.
fn most_at_once(turns: &[Turn]) -> usize {
    let key = |at: &Option<prost_types::Timestamp>| at.map_or((0, 0), |at| (at.seconds, at.nanos));
    let mut moments: Vec<((i64, i32), bool)> = turns
        .iter()
        .flat_map(|turn| [(key(&turn.launch_time), true), (key(&turn.end_time), false)])
        .collect();
    moments.sort_unstable();
    let (mut live, mut most) = (0_usize, 0);
    for (_, begins) in moments {
        live = if begins {
            live + 1
        } else {
            live.saturating_sub(1)
        };
        most = most.max(live);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(from: i64, to: i64) -> Turn {
        let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
        Turn {
            launch_time: at(from),
            end_time: at(to),
            ..Turn::default()
        }
    }

    #[test]
    fn turns_overlap_or_follow_one_another() {
        assert_eq!(most_at_once(&[]), 0);
        assert_eq!(most_at_once(&[turn(1, 2), turn(2, 3)]), 1);
        assert_eq!(most_at_once(&[turn(1, 4), turn(2, 3), turn(3, 5)]), 2);
    }

    #[test]
    fn a_part_is_by_weight() {
        assert_eq!(part(700, 4, 7), 400);
        assert_eq!(part(i64::MAX, 1, 1), i64::MAX);
        assert_eq!(part(5, 1, 0), 5);
    }
}
