//! The caps on quarantine: never more than half of those who share a capability, and never the last.

use cambium_proto::signal::v1::Signal;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, out, reason};
use crate::told::{agents, limited, retired, spawned};

async fn writers<const N: usize>(fixture: &Fixture) -> [Uuid; N] {
    let agents = agents::<N>();
    let told: Vec<Signal> = (0..)
        .zip(&agents)
        .map(|(n, agent)| spawned(*agent, &format!("agent-{n}"), &["write"]))
        .collect();
    fixture.deliver(&told).await;
    agents
}

async fn how_many_out(fixture: &Fixture) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM immune.standing WHERE quarantine_id IS NOT NULL")
        .fetch_one(fixture.owner())
        .await
        .unwrap()
}

fn spam(agent: Uuid) -> Vec<Signal> {
    (0..5).map(|_| limited(agent)).collect()
}

#[tokio::test]
async fn an_operator_is_held_at_half_and_passes_with_over_cap() {
    let fixture = fixture::start().await;
    let four = writers::<4>(&fixture).await;
    for agent in &four[..2] {
        fixture.quarantine(*agent).await.unwrap();
    }
    let before = fixture.everything().await;

    let refused = fixture.quarantine(four[2]).await.unwrap_err();

    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(reason(&refused), "QUARANTINE_CAP");
    assert!(
        refused.message().contains("3 of the 4 who can `write`"),
        "{refused}"
    );
    assert_eq!(fixture.everything().await, before);
    let mut wish = out(four[2]);
    wish.over_cap = true;
    let reply = fixture.quarantines().quarantine_agent(wish).await.unwrap();
    assert!(reply.into_inner().quarantine.unwrap().over_cap);
    let [alert] = fixture.all_alerts().await.try_into().unwrap();
    assert_eq!((alert.source.as_str(), alert.seq), ("quarantine-cap", 1));
    assert!(alert.text.contains("agent-2"), "{}", alert.text);
}

#[tokio::test]
async fn over_cap_where_no_cap_bites_raises_nothing() {
    let fixture = fixture::start().await;
    let [ada, _] = writers::<2>(&fixture).await;
    let mut wish = out(ada);
    wish.over_cap = true;

    let reply = fixture.quarantines().quarantine_agent(wish).await.unwrap();

    assert!(!reply.into_inner().quarantine.unwrap().over_cap);
    assert!(fixture.all_alerts().await.is_empty());
}

#[tokio::test]
async fn the_last_who_can_do_something_is_never_taken_out() {
    let fixture = fixture::start().await;
    let [ada, bob, cy] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &["write", "sing"]),
            spawned(bob, "bob", &["write"]),
            spawned(cy, "cy", &["write", "sing"]),
            // It takes no new work: it is no singer any more.
            retired(cy, true),
        ])
        .await;

    let refused = fixture.quarantine(ada).await.unwrap_err();
    let allowed = fixture.quarantine(bob).await;

    assert!(
        refused
            .message()
            .contains("nobody would be left who can `sing`"),
        "{refused}"
    );
    assert!(allowed.is_ok());
}

#[tokio::test]
async fn twenty_at_once_on_two_replicas_break_no_cap() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;
    let twenty = writers::<20>(&fixture).await;

    let calls: Vec<_> = (0..)
        .zip(twenty)
        .map(|(n, agent)| {
            let party = if n % 2 == 0 {
                (*fixture).clone()
            } else {
                replica.clone()
            };
            tokio::spawn(async move {
                // Both ways of going at once: by an operator, and by a rule.
                if n % 4 < 2 {
                    let _ = party.quarantine(agent).await;
                } else {
                    party.deliver(&spam(agent)).await;
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }

    assert_eq!(how_many_out(&fixture).await, 10);
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn one_batch_breaks_no_cap_either_and_says_so() {
    let fixture = fixture::start().await;
    let four = writers::<4>(&fixture).await;
    let all: Vec<Signal> = four.iter().flat_map(|agent| spam(*agent)).collect();

    fixture.deliver(&all).await;

    assert_eq!(how_many_out(&fixture).await, 2);
    let anomalies = fixture.anomalies().await;
    let held = anomalies
        .iter()
        .filter(|anomaly| anomaly.detail.contains("an alert was raised instead"));
    assert_eq!((anomalies.len(), held.count()), (4, 2));
    let alerts = fixture.all_alerts().await;
    assert!(alerts.iter().all(|alert| alert.source == "quarantine-cap"));
    assert_eq!(alerts.len(), 2);
    for agent in four {
        // 0.10 times a severity of 0.5, quarantine or not.
        assert_eq!(fixture.standing(agent).await.trust, 0.45);
    }
}

#[tokio::test]
async fn who_shares_nothing_is_held_by_no_cap() {
    let fixture = fixture::start().await;
    let [unheard_of] = agents();

    fixture.deliver(&spam(unheard_of)).await;

    assert!(fixture.is_out(unheard_of).await);
}
