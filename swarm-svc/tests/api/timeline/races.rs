//! Ten minds, three slots, two replicas, and more schedulers than anybody needs.

use std::collections::BTreeMap;

use cambium_proto::swarm::v1::{ListTurnsRequest, TickRequest, Turn, Why};
use futures::future::join_all;
use tonic::Code;

use super::steps::{CAP, Client, charge, charging, number, race, rich, tick_by};
use crate::control_steps::line;
use crate::fixture::{BODY, Fixture, WORKSPACE};

const MINDS: usize = 10;

async fn crowd() -> (Fixture, Client) {
    let swarm = rich(3).await;
    for n in 0..MINDS {
        swarm.open_released(&format!("mind-{n}"), 1_000_000).await;
    }
    let other = swarm.replica(&swarm.keys.scheduler()).await;
    (swarm, other)
}

/// Three at most, each in a slot of its own, no mind twice.
fn assert_apart(live: &[Turn]) {
    let mut slots: Vec<i32> = live.iter().map(|turn| turn.slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2]);
    let mut minds: Vec<&str> = live.iter().map(|turn| turn.instance.as_str()).collect();
    minds.sort_unstable();
    minds.dedup();
    assert_eq!(minds.len(), 3, "{live:?}");
}

#[tokio::test]
async fn racing_schedulers_fill_each_slot_once() {
    let (swarm, other) = crowd().await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut live: Vec<Turn> = Vec::new();

    for wave in 0..8 {
        let (turns, skips) = race(&swarm, &other, 16).await;
        let free = if wave == 0 { 3 } else { 2 };
        assert_eq!(turns.len(), free);
        assert_eq!(skips, vec![Why::Slots; 16 - free]);
        for turn in &turns {
            *counts.entry(turn.instance.clone()).or_default() += 1;
        }
        live.extend(turns);
        assert_apart(&live);
        assert_eq!(line(&swarm).await.live, 3);
        for turn in live.drain(..2) {
            charge(&swarm, charging(&turn, Some(5_000))).await.unwrap();
        }
    }

    // 17 turns of ten minds: nobody has a second before all have their first, as far as a live turn does not hold one up.
    assert_eq!(counts.len(), MINDS);
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
}

#[tokio::test]
async fn settlements_and_ticks_that_race_keep_the_slots_apart() {
    let (swarm, other) = crowd().await;
    let (mut live, _) = race(&swarm, &other, 3).await;

    for _ in 0..5 {
        let ending: Vec<Turn> = live.clone();
        let charges = ending.iter().flat_map(|turn| {
            // Two meters say the same of each turn.
            [0, 1].map(|_| charge(&swarm, charging(turn, Some(5_000))))
        });
        let schedulers = (0..12).map(|n| match n % 2 {
            0 => tick_by(swarm.scheduler()),
            _ => tick_by(other.clone()),
        });
        let (charged, ticked) = tokio::join!(join_all(charges), join_all(schedulers));
        let first = charged
            .into_iter()
            .filter(|reply| !reply.as_ref().unwrap().already);
        assert_eq!(first.count(), 3);
        live = ticked.into_iter().filter_map(|reply| reply.turn).collect();
        let (more, _) = race(&swarm, &other, 6).await;
        live.extend(more);
        let shown = line(&swarm).await;
        assert_eq!(shown.live, 3);
        let held = shown
            .minds
            .into_iter()
            .filter(|mind| !mind.live_turn_id.is_empty());
        assert_eq!(held.count(), 3);
        let alive: Vec<Turn> = live_turns(&swarm).await;
        assert_apart(&alive);
        live = alive;
    }

    let reserved = line(&swarm).await.reserved_micro_usd;
    assert_eq!(reserved, 3 * CAP);
    let crowded = number(&swarm, "SELECT count(*) FROM swarm.grant WHERE live > 2").await;
    assert_eq!(crowded, 0);
    let charges = "SELECT count(*) FROM swarm.charge c JOIN swarm.turn t USING (workspace_id, turn_id) WHERE t.state = 'settled'";
    let settled = number(
        &swarm,
        "SELECT count(*) FROM swarm.turn WHERE state = 'settled'",
    )
    .await;
    assert_eq!(number(&swarm, charges).await, settled);
}

async fn live_turns(swarm: &Fixture) -> Vec<Turn> {
    let request = ListTurnsRequest {
        workspace_id: WORKSPACE.to_owned(),
        live_only: true,
        ..ListTurnsRequest::default()
    };
    let reply = swarm.timeline().list_turns(request).await;
    reply.unwrap().into_inner().turns
}

#[tokio::test]
async fn only_a_scheduler_asks_for_turns() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    let others = [
        swarm.keys.operator(),
        swarm.keys.viewer(),
        swarm.keys.meter(),
        swarm.keys.worker_named(BODY),
        swarm.keys.service("hypha"),
    ];
    for token in others {
        let request = TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let mut other = swarm.timeline_bearing(&token);
        let refused = other.tick(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    assert_eq!(line(&swarm).await.live, 0);
}
