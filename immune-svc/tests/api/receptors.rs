//! What immune hears: from whom, in whatever order, however often.

use std::collections::BTreeMap;

use cambium_proto::immune::v1::ScoreKind;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{Signal, StandingChanged, TaskOutcome};
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, reason};
use crate::told::{
    again, agents, dead_end, enrolled, limited, placed, retired, settled, spawned, thanks,
};

/// How often each event of each agent was credited, and how often it was not.
async fn counts(fixture: &Fixture) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT agent_id || ' ' || event || ' ' || (delta <> 0), count(*)
         FROM immune.ledger WHERE score IN (1, 2) AND event <> 'anomaly' GROUP BY 1",
    )
    .fetch_all(fixture.owner())
    .await
    .unwrap();
    rows.into_iter().collect()
}

#[tokio::test]
async fn order_and_repetition_change_no_count() {
    let [ada, bob] = agents();
    let mut signals = vec![spawned(ada, "ada", &["write"]), enrolled(bob, "bob")];
    for _ in 0..5 {
        signals.extend([
            thanks(ada, bob),
            thanks(bob, ada),
            thanks(ada, ada),
            dead_end(bob),
            placed(ada, "knowledge.pattern"),
            settled(ada, TaskOutcome::Succeeded),
            settled(bob, TaskOutcome::Failed),
            settled(bob, TaskOutcome::Stale),
        ]);
    }
    let straight = fixture::start().await;
    let backwards = fixture::start().await;
    let twice = fixture::start().await;

    straight.deliver(&signals).await;
    for signal in signals.iter().rev() {
        backwards.deliver(std::slice::from_ref(signal)).await;
    }
    let repeated: Vec<Signal> = signals.iter().map(again).collect();
    twice.deliver(&signals).await;
    twice.deliver(&repeated).await;
    twice.deliver(&signals).await;

    let expected = counts(&straight).await;
    assert_eq!(expected.values().sum::<i64>(), 35);
    assert_eq!(counts(&backwards).await, expected);
    assert_eq!(counts(&twice).await, expected);
    for fixture in [&straight, &backwards, &twice] {
        assert_eq!(fixture.standing(ada).await.name, "ada");
        fixture.check_ledgers().await;
    }
}

#[tokio::test]
async fn deliveries_that_cross_count_each_fact_once() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;
    let agents: [Uuid; 6] = agents();
    let signals: Vec<Signal> = (0..120)
        .map(|n| thanks(agents[n % 6], agents[(n * 5 + 1) % 6]))
        .collect();
    let backwards: Vec<Signal> = signals.iter().rev().map(again).collect();

    let calls: Vec<_> = (0..4)
        .map(|n| {
            let party = if n % 2 == 0 {
                (*fixture).clone()
            } else {
                replica.clone()
            };
            let signals = if n < 2 {
                signals.clone()
            } else {
                backwards.clone()
            };
            tokio::spawn(async move {
                for part in signals.chunks(30) {
                    party.deliver(part).await;
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }

    assert_eq!(fixture.count("ledger").await, 120);
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn each_type_is_believed_from_its_owner_alone() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let signals = [
        thanks(ada, bob),
        dead_end(ada),
        settled(ada, TaskOutcome::Succeeded),
        placed(ada, "knowledge.pattern"),
        limited(ada),
        spawned(ada, "ada", &["write"]),
        retired(ada, false),
    ];
    let before = fixture.everything().await;

    for signal in &signals {
        for sender in ["hypha", "stigmergy", "genesis", "swarm", "immune"] {
            if sender == signal.source {
                continue;
            }
            let refused = fixture
                .deliver_as(sender, std::slice::from_ref(signal))
                .await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.code(), Code::PermissionDenied, "{}", signal.r#type);
            assert_eq!(reason(&refused), "SIGNAL_NOT_YOURS");
        }
    }

    assert_eq!(fixture.everything().await, before);
    fixture.deliver(&signals).await;
    assert_eq!(fixture.count("inbox").await, 7);
}

#[tokio::test]
async fn an_agent_does_not_speak_for_itself() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let mut client = cambium_proto::signal::v1::signal_service_client::SignalServiceClient::new(
        cambium_testkit::with_token(fixture.channel.clone(), &fixture.keys.agent(ada)),
    );

    let request = cambium_proto::signal::v1::DeliverRequest {
        signals: vec![thanks(ada, bob)],
    };
    let refused = client.deliver(request).await.unwrap_err();

    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(fixture.count("ledger").await, 0);
}

#[tokio::test]
async fn what_it_does_not_know_is_kept_and_ignored() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let newer = Signal {
        r#type: "coord.newer_than_we_are".to_owned(),
        ..thanks(ada, bob)
    };
    let mut mixed_up = thanks(ada, bob);
    mixed_up.payload = Some(Payload::StandingChanged(StandingChanged::default()));

    fixture.deliver(&[newer, mixed_up]).await;

    assert_eq!(fixture.count("inbox").await, 2);
    assert_eq!(fixture.count("ledger").await, 0);
    assert_eq!(fixture.count("standing").await, 0);
}

#[tokio::test]
async fn a_malformed_fact_refuses_its_batch() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let mut broken = thanks(ada, bob);
    if let Some(Payload::Gratitude(gratitude)) = &mut broken.payload {
        gratitude.from_agent_id = "seven".to_owned();
    }
    let before = fixture.everything().await;

    let refused = fixture
        .deliver_as("hypha", &[thanks(ada, bob), broken])
        .await;

    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_gift_of_nobody_is_nobodys_and_one_to_nobody_counts_as_a_pair() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let rewrite = |from: &str, to: &str| {
        let mut signal = thanks(ada, bob);
        if let Some(Payload::Gratitude(gratitude)) = &mut signal.payload {
            gratitude.from_agent_id = from.to_owned();
            gratitude.to_agent_id = to.to_owned();
        }
        signal
    };
    let mut signals = vec![rewrite("", &bob.to_string())];
    signals.extend((0..4).map(|_| rewrite(&ada.to_string(), "")));

    fixture.deliver(&signals).await;

    let ledger = fixture.ledger(ada, ScoreKind::Generosity).await;
    let deltas: Vec<f64> = ledger.iter().map(|entry| entry.delta).collect();
    assert_eq!(deltas, [0.03, 0.03, 0.03, 0.0]);
    assert_eq!(fixture.count("standing").await, 1);
}

#[tokio::test]
async fn the_retired_close_and_late_facts_of_their_life_still_count() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();

    fixture
        .deliver(&[spawned(ada, "ada", &["write"]), retired(ada, true)])
        .await;
    assert!(!fixture.standing(ada).await.closed);
    fixture
        .deliver(&[retired(ada, false), thanks(ada, bob)])
        .await;
    let failures: Vec<_> = (0..30).map(|_| settled(ada, TaskOutcome::Failed)).collect();
    fixture.deliver(&failures).await;

    let standing = fixture.standing(ada).await;
    assert!(standing.closed);
    assert_eq!(standing.generosity, 0.53);
    // Nobody could act on it.
    assert!(fixture.anomalies().await.is_empty());
}

#[tokio::test]
async fn workspaces_do_not_hear_of_each_other() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let north = Signal {
        workspace_id: "north".to_owned(),
        ..thanks(ada, bob)
    };

    fixture.deliver(&[thanks(ada, bob), north]).await;

    assert_eq!(fixture.standing(ada).await.generosity, 0.53);
    assert_eq!(fixture.count("standing").await, 2);
}
