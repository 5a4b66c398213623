//! Health, and what follows from giving on while unwell.

use std::time::Duration;

use cambium_proto::immune::v1::{Badge, HealthBand, ScoreKind};
use cambium_proto::signal::v1::TaskOutcome;
use cambium_proto::signal::v1::signal::Payload;
use cambium_testkit::{SignalSink, wait_until};
use prost_types::Duration as Length;

use crate::fixture;
use crate::told::{agents, noon, on, settled, thanks};

const BOUND: Duration = Duration::from_secs(10);

#[tokio::test]
async fn failures_and_lost_leases_wear_an_agent_down_and_success_heals_it() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    fixture
        .deliver(&[settled(ada, TaskOutcome::Succeeded)])
        .await;
    let well = fixture.standing(ada).await;
    let failures: Vec<_> = (0..12).map(|_| settled(ada, TaskOutcome::Failed)).collect();
    fixture.deliver(&failures).await;
    let unwell = fixture.standing(ada).await;
    let successes: Vec<_> = (0..12)
        .map(|_| settled(ada, TaskOutcome::Succeeded))
        .collect();
    fixture.deliver(&successes).await;
    let better = fixture.standing(ada).await;

    assert_eq!(
        (well.health, well.health_band()),
        (1.0, HealthBand::Healthy)
    );
    assert_eq!(unwell.health_band(), HealthBand::Stressed);
    assert!(better.health > unwell.health);
    assert_eq!(better.health_band(), HealthBand::Healthy);
    // A step is written only where health moved.
    let ledger = fixture.ledger(ada, ScoreKind::Health).await;
    assert_eq!(ledger.len(), 24);
    assert_eq!(ledger[0].event, "task_failed");
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn ten_minutes_at_full_slots_take_a_fifth() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let mut signal = on(settled(ada, TaskOutcome::Succeeded), noon() + 599);
            if let Some(Payload::TaskSettled(settled)) = &mut signal.payload {
                settled.busy = settled.slots;
                settled.duration = Some(Length {
                    seconds: 599,
                    nanos: 0,
                });
            }
            signal
        })
        .collect();

    fixture.deliver(&busy).await;

    assert_eq!(fixture.standing(ada).await.health, 0.800_333);
}

#[tokio::test]
async fn the_overextended_are_given_half_their_slots_until_they_are_well() {
    let hypha = SignalSink::start().await;
    let fixture = fixture::start_telling(&[("hypha", hypha.url())]).await;
    let [ada] = agents();
    let others = agents::<11>();

    let gifts: Vec<_> = others.iter().map(|other| thanks(ada, *other)).collect();
    fixture.deliver(&gifts).await;
    let failures: Vec<_> = (0..12).map(|_| settled(ada, TaskOutcome::Failed)).collect();
    fixture.deliver(&failures).await;
    let unwell = fixture.standing(ada).await;
    fixture.deliver(&[thanks(ada, others[0])]).await;
    let successes: Vec<_> = (0..12)
        .map(|_| settled(ada, TaskOutcome::Succeeded))
        .collect();
    fixture.deliver(&successes).await;
    let well = fixture.standing(ada).await;

    assert!(unwell.badges().any(|badge| badge == Badge::Overextended));
    assert!(!unwell.badges().any(|badge| badge == Badge::Quarantined));
    assert!(!well.badges().any(|badge| badge == Badge::Overextended));
    let heard: Vec<i32> = sqlx::query_scalar(
        "SELECT intensity FROM immune.heard WHERE signal_type = 'stress.overextension'",
    )
    .fetch_all(fixture.owner())
    .await
    .unwrap();
    assert_eq!(heard, [700_000]);
    wait_until(BOUND, "hypha has heard", async || {
        fixture.count("outbox").await == 0
    })
    .await;
    let advice: Vec<(i64, f64)> = hypha
        .received()
        .into_iter()
        .filter_map(|signal| match signal.payload {
            Some(Payload::LoadAdvice(advice)) => Some((advice.seq, advice.share)),
            _ => None,
        })
        .collect();
    assert_eq!(advice, [(1, 0.5), (2, 1.0)]);
}
