//! While no replica listens, a lease that runs out is no worker's loss.

use std::time::Duration;

use cambium_proto::hypha::v1::{LeaseState, RunState, TaskState};
use cambium_testkit::wait_until;
use chrono::TimeDelta;

use crate::fixture::{Fixture, graph, start};

const OUTAGES: &str = "SELECT count(*) FROM hypha.outage";

/// A service that has listened for a moment, and no gap from before it started.
async fn listening() -> Fixture {
    let fixture = start().await;
    let fresh = "SELECT count(*) FROM hypha.pulse WHERE heard_at > hypha.now() - interval '1 s'";
    wait_until(Duration::from_secs(10), "the service listens", async || {
        fixture.count(fresh).await == 1
    })
    .await;
    let forget = sqlx::query("DELETE FROM hypha.outage");
    forget.execute(&fixture.database.owner).await.unwrap();
    fixture
}

#[tokio::test]
async fn a_lease_that_ran_out_while_nobody_listened_still_holds() {
    let fixture = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("deaf", &["T", "U"], &["T->U"])).await;
    let attempt = worker.take_node("T").await;

    fixture.database.advance(TimeDelta::seconds(60)).await;
    wait_until(Duration::from_secs(10), "the gap is found", async || {
        fixture.count(OUTAGES).await == 1
    })
    .await;

    assert_eq!(worker.heartbeat(&attempt).await, LeaseState::Ok);
    worker.complete(&attempt).await.unwrap();
    let task = &fixture.tasks(&run).await["T"];
    assert_eq!(
        (task.state(), task.epoch, task.lease_losses),
        (TaskState::Succeeded, 1, 0)
    );
}

#[tokio::test]
async fn after_a_gap_a_lease_has_one_full_term_and_no_more() {
    let fixture = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("term", &["T"], &[])).await;
    worker.take_node("T").await;
    fixture.database.advance(TimeDelta::seconds(60)).await;
    wait_until(Duration::from_secs(10), "the gap is found", async || {
        fixture.count(OUTAGES).await == 1
    })
    .await;

    fixture.advance(TimeDelta::seconds(8)).await;
    assert_eq!(fixture.states(&run).await["T"], TaskState::Running);
    fixture.advance(TimeDelta::seconds(3)).await;

    let again = worker.take_node("T").await;
    assert_eq!(again.lease.as_ref().unwrap().epoch, 2);
    worker.complete(&again).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    assert_eq!(
        fixture.count(OUTAGES).await,
        1,
        "nobody was deaf a second time"
    );
}

#[tokio::test]
async fn a_service_that_listens_notes_no_gap() {
    let fixture = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("heard", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;

    fixture.advance(TimeDelta::seconds(9)).await;
    worker.complete(&attempt).await.unwrap();

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    assert_eq!(fixture.count(OUTAGES).await, 0);
}
