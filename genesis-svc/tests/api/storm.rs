//! Agents that make agents without end, from many callers at once: every limit holds to the last one.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use crate::fixture::{self, Fixture, put, reason, spawn, spec};

const CALLERS: usize = 50;

/// What came of a storm: agents by id, and refusals by reason.
#[derive(Debug, Default)]
struct Storm {
    born: Vec<String>,
    refused: BTreeMap<String, usize>,
}

/// Each caller spawns for each of its parents, one after another.
async fn storm(fixture: &Fixture, parents: Vec<String>) -> Storm {
    let mut calls = JoinSet::new();
    let share = parents.len().div_ceil(CALLERS);
    for parents in parents.chunks(share.max(1)) {
        let (mut spawns, parents) = (fixture.spawns(), parents.to_vec());
        calls.spawn(async move {
            let mut replies = Vec::new();
            for parent in parents {
                let request = spawn(&parent);
                let mut reply = spawns.spawn(request.clone()).await;
                // On a machine that is busy with more than this, the database has no time: asked again as a client would.
                while is_unavailable(&reply) {
                    reply = spawns.spawn(request.clone()).await;
                }
                replies.push(reply);
            }
            replies
        });
    }
    let mut storm = Storm::default();
    for reply in calls.join_all().await.into_iter().flatten() {
        match reply {
            Ok(reply) => storm.born.push(reply.into_inner().agent.unwrap().agent_id),
            Err(refused) => {
                let expected = [Code::ResourceExhausted, Code::FailedPrecondition];
                assert!(expected.contains(&refused.code()), "{refused:?}");
                *storm.refused.entry(reason(&refused)).or_default() += 1;
            }
        }
    }
    storm
}

fn is_unavailable<T>(reply: &Result<T, Status>) -> bool {
    reply
        .as_ref()
        .is_err_and(|status| [Code::Unavailable, Code::DeadlineExceeded].contains(&status.code()))
}

async fn started() -> Fixture {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    fixture
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_of_a_thousand_spawns_stops_at_the_limits() {
    let fixture = started().await;

    let first = storm(&fixture, vec![String::new(); 1_000]).await;
    fixture.database.advance(TimeDelta::seconds(61)).await;
    let second = storm(&fixture, vec![String::new(); 200]).await;

    assert_eq!(first.born.len(), 60);
    assert_eq!(
        first.refused,
        BTreeMap::from([("SPAWN_RATE_LIMIT".to_owned(), 940)])
    );
    assert_eq!(second.born.len(), 40);
    assert_eq!(
        second.refused,
        BTreeMap::from([("SPAWN_TEMPLATE_LIMIT".to_owned(), 160)])
    );
    assert_eq!(fixture.count("agent").await, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_spawn_five_of_themselves_stop_at_the_limits() {
    let fixture = started().await;
    let mut generation = vec![fixture.spawned().await];
    let mut all = 1;
    let mut refused = BTreeMap::new();

    for _ in 0..10 {
        let parents = generation.iter().flat_map(|parent| vec![parent.clone(); 5]);
        let storm = storm(&fixture, parents.collect()).await;
        all += storm.born.len();
        refused.extend(storm.refused);
        generation = storm.born;
        fixture.database.advance(TimeDelta::seconds(61)).await;
    }

    assert_eq!(all, 100);
    assert_eq!(fixture.count("agent").await, 100);
    assert!(refused.contains_key("SPAWN_TEMPLATE_LIMIT"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_parent_gets_ten_children_from_however_many_callers() {
    let fixture = started().await;
    let root = fixture.spawned().await;

    let storm = storm(&fixture, vec![root; 200]).await;

    assert_eq!(storm.born.len(), 10);
    assert_eq!(
        storm.refused,
        BTreeMap::from([("SPAWN_CHILDREN_LIMIT".to_owned(), 190)])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_hurries_ends_with_its_eighth_generation() {
    let fixture = started().await;
    let mut last = vec![fixture.spawned().await];
    for _ in 0..8 {
        last = vec![fixture.spawned_by(&last[0]).await];
    }

    let storm = storm(&fixture, vec![last.remove(0); 100]).await;

    assert_eq!(storm.born, Vec::<String>::new());
    assert_eq!(
        storm.refused,
        BTreeMap::from([("SPAWN_GENERATION_LIMIT".to_owned(), 100)])
    );
}
