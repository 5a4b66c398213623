//! Two replicas of hypha on one database.

use cambium_proto::hypha::v1::RunState;

use crate::fixture::{graph, start};

#[tokio::test]
async fn work_that_one_replica_leaves_is_found_by_a_poll_at_the_other() {
    let fixture = start().await;
    let other = fixture.replica().await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let mut worker = other.worker("w", &[]).await;

    let first = worker.take_node("a").await;
    worker.complete(&first).await.unwrap();
    let second = worker.take_node("b").await;
    worker.complete(&second).await.unwrap();

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn the_last_two_tasks_may_end_at_two_replicas_at_once() {
    let fixture = start().await;
    let other = fixture.replica().await;
    let mut here = fixture.worker("w", &[]).await;
    for _ in 0..50 {
        let run = fixture
            .start(graph("g", &["a", "b", "c"], &["a->c", "b->c"]))
            .await;
        let mut both = here.poll(2, 10_000).await.unwrap();
        if both.len() < 2 {
            both.push(here.take().await);
        }
        let mut there = other.same_worker(&here);

        let (one, two) =
            futures::future::join(here.complete(&both[0]), there.complete(&both[1])).await;

        one.unwrap();
        two.unwrap();
        let last = there.take_node("c").await;
        there.complete(&last).await.unwrap();
        let run = fixture.run(&run).await;
        assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 2));
    }
}
