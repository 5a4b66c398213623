//! What a restart leaves as it was, and what time takes away.

use std::time::Duration;

use cambium_proto::signal::v1::TaskOutcome;
use cambium_testkit::wait_until;
use chrono::TimeDelta;

use crate::fixture::{self, adjustment};
use crate::told::{again, agents, limited, settled, spawned, thanks};

const BOUND: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_service_that_starts_afresh_goes_on_where_it_was() {
    let mut fixture = fixture::start().await;
    let [ada, bob] = agents();
    let gift = thanks(ada, bob);
    let word = adjustment(bob, 0.1);
    fixture
        .deliver(&[spawned(ada, "ada", &[]), spawned(bob, "bob", &[])])
        .await;
    fixture
        .deliver(&[gift.clone(), limited(ada), limited(ada)])
        .await;
    let first = fixture
        .standings()
        .adjust_trust(word.clone())
        .await
        .unwrap();
    fixture.quarantine(bob).await.unwrap();
    let before = fixture.everything().await;

    fixture.restart().await;
    fixture.deliver(&[gift.clone(), again(&gift)]).await;
    let again = fixture.standings().adjust_trust(word).await.unwrap();

    assert_eq!(again.into_inner(), first.into_inner());
    let after = fixture.everything().await;
    // All but the second telling of the gift is as it was.
    assert_eq!(after.len(), before.len() + 1);
    // What rules had counted still counts, and what was to end still ends.
    fixture
        .deliver(&[limited(ada), limited(ada), limited(ada)])
        .await;
    assert!(fixture.is_out(ada).await);
    fixture.database.advance(TimeDelta::minutes(10)).await;
    wait_until(BOUND, "bob is back", async || !fixture.is_out(bob).await).await;
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn what_nobody_asks_for_again_is_forgotten() {
    let mut fixture = fixture::start().await;
    let [ada] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &[]),
            settled(ada, TaskOutcome::Failed),
            thanks(ada, ada),
        ])
        .await;
    fixture
        .standings()
        .adjust_trust(adjustment(ada, 0.1))
        .await
        .unwrap();
    let ledger = fixture.count("ledger").await;
    assert_eq!(
        (
            fixture.count("receipt").await,
            fixture.count("heard").await,
            fixture.count("inbox").await
        ),
        (1, 1, 3)
    );

    fixture.database.advance(TimeDelta::days(31)).await;
    // A loop begins as its service does.
    fixture.restart().await;

    for table in ["receipt", "heard", "inbox"] {
        wait_until(BOUND, "it is forgotten", async || {
            fixture.count(table).await == 0
        })
        .await;
    }
    assert_eq!(fixture.count("ledger").await, ledger);
}
