//! Trust: what moves it, by how much, and how it fades.

use cambium_proto::immune::v1::ScoreKind;
use cambium_proto::signal::v1::TaskOutcome;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, adjustment, field, reason};
use crate::told::{agents, enrolled, retired, settled, spawned};

#[tokio::test]
async fn each_outcome_moves_trust_by_its_number() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    fixture
        .deliver(&[
            settled(ada, TaskOutcome::Succeeded),
            settled(ada, TaskOutcome::Failed),
            settled(ada, TaskOutcome::InvalidOutput),
            settled(ada, TaskOutcome::LeaseLost),
            settled(ada, TaskOutcome::Stale),
        ])
        .await;

    let ledger = fixture.ledger(ada, ScoreKind::Trust).await;
    let steps: Vec<_> = ledger
        .iter()
        .map(|entry| (entry.event.as_str(), entry.delta, entry.after))
        .collect();
    assert_eq!(
        steps,
        [
            ("task_succeeded", 0.01, 0.51),
            ("task_failed", -0.03, 0.48),
            ("invalid_output", -0.05, 0.43),
            ("lease_lost", -0.02, 0.41),
        ]
    );
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn an_agent_from_outside_begins_with_less_trust() {
    let fixture = fixture::start().await;
    let [inside, outside, seen_before] = agents();

    fixture
        .deliver(&[
            spawned(inside, "ada", &["write"]),
            enrolled(outside, "bob"),
            settled(seen_before, TaskOutcome::Succeeded),
            enrolled(seen_before, "cy"),
        ])
        .await;

    assert_eq!(fixture.standing(inside).await.trust, 0.5);
    assert_eq!(fixture.standing(outside).await.trust, 0.3);
    let known = fixture.standing(seen_before).await;
    assert_eq!((known.trust, known.name.as_str()), (0.51, "cy"));
}

#[tokio::test]
async fn idle_trust_goes_half_way_to_its_start_each_week() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    fixture
        .standings()
        .adjust_trust(adjustment(ada, 0.4))
        .await
        .unwrap();

    fixture.database.advance(TimeDelta::days(7)).await;
    let looked = fixture.standing(ada).await;
    let unmoved = fixture.ledger(ada, ScoreKind::Trust).await;
    fixture
        .deliver(&[settled(ada, TaskOutcome::Succeeded)])
        .await;

    // Looking at it writes nothing.
    assert_eq!((looked.trust, unmoved.len()), (0.7, 1));
    let ledger = fixture.ledger(ada, ScoreKind::Trust).await;
    let steps: Vec<_> = ledger
        .iter()
        .map(|entry| (entry.event.as_str(), entry.delta, entry.after))
        .collect();
    assert_eq!(
        steps,
        [
            ("adjustment", 0.4, 0.9),
            ("idle_drift", -0.2, 0.7),
            ("task_succeeded", 0.01, 0.71),
        ]
    );
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn the_database_drifts_as_the_rule_does() {
    let fixture = fixture::start().await;
    let then = chrono::DateTime::UNIX_EPOCH;

    for (trust, start, days) in [
        (900_001, 500_000, 0),
        (900_001, 500_000, 7),
        (900_001, 500_000, 20),
        (99_999, 500_000, 14),
        (1, 300_000, 700),
        (700_000, 300_000, -9),
    ] {
        let now = then + TimeDelta::days(days);
        let stored: i32 = sqlx::query_scalar("SELECT immune.drifted($1, $2, $3, $4)")
            .bind(trust)
            .bind(start)
            .bind(then)
            .bind(now)
            .fetch_one(fixture.owner())
            .await
            .unwrap();

        let [score, start] =
            [trust, start].map(|n| cambium_kernel::Score::from_millionths(n).unwrap());
        let ruled = cambium_immune::drifted(score, start, then, now);
        assert_eq!(stored, ruled.as_millionths());
    }
}

#[tokio::test]
async fn an_operators_word_moves_trust_once_and_stays_in_the_ledger() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let word = adjustment(ada, -0.7);

    let mut operator = fixture.standings();
    let first = operator.adjust_trust(word.clone()).await.unwrap();
    let again = operator.adjust_trust(word.clone()).await.unwrap();

    assert_eq!(first.into_inner(), again.into_inner());
    let [row] = fixture
        .ledger(ada, ScoreKind::Trust)
        .await
        .try_into()
        .unwrap();
    assert_eq!((row.before, row.delta, row.after), (0.5, -0.7, 0.0));
    assert_eq!(row.reason, "operator:ada: seen at work");
    let mut other = word;
    other.delta = 0.1;
    let taken = operator.adjust_trust(other).await.unwrap_err();
    assert_eq!(taken.code(), Code::AlreadyExists);
}

#[tokio::test]
async fn a_word_without_weight_or_reason_is_refused() {
    let fixture = fixture::start().await;
    let [ada, stranger, gone] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &["write"]),
            spawned(gone, "gone", &["write"]),
            retired(gone, false),
        ])
        .await;
    let before = fixture.everything().await;
    let mut operator = fixture.standings();

    for delta in [0.0, 1.5, -1.000_1, f64::NAN, f64::INFINITY] {
        let refused = operator.adjust_trust(adjustment(ada, delta)).await;
        assert_eq!(field(&refused.unwrap_err()), "delta");
    }
    for why in ["", "  ", &"x".repeat(501), "a\0b"] {
        let mut word = adjustment(ada, 0.1);
        word.reason = why.to_owned();
        let refused = operator.adjust_trust(word).await.unwrap_err();
        assert_eq!(field(&refused), "reason");
    }
    let unknown = operator.adjust_trust(adjustment(stranger, 0.1)).await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
    let closed = operator.adjust_trust(adjustment(gone, 0.1)).await;
    assert_eq!(reason(&closed.unwrap_err()), "AGENT_RETIRED");

    assert_eq!(fixture.everything().await, before);
}
