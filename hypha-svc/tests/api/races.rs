//! Completions that meet.

use cambium_proto::hypha::v1::RunState;

use crate::fixture::{Wish, graph, start_with};

#[tokio::test]
async fn two_last_tasks_that_end_at_once_end_the_run_once() {
    let fixture = start_with(Wish {
        committers: 4,
        ..Wish::default()
    })
    .await;
    let mut worker = fixture.worker("w", &[]).await;
    for _ in 0..50 {
        let run = fixture
            .start(graph("g", &["a", "b", "c"], &["a->b", "a->c"]))
            .await;
        let first = worker.take_node("a").await;
        worker.complete(&first).await.unwrap();
        let mut both = worker.poll(2, 10_000).await.unwrap();
        if both.len() < 2 {
            both.push(worker.take().await);
        }
        let (mut one, mut other) = (worker.clone(), worker.clone());

        let (first, second) =
            futures::future::join(one.complete(&both[0]), other.complete(&both[1])).await;

        first.unwrap();
        second.unwrap();
        let run = fixture.run(&run).await;
        assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 2));
        assert_eq!(run.gift.unwrap().total_handoffs, 2);
    }
}

#[tokio::test]
async fn one_completion_sent_many_times_at_once_counts_once() {
    let fixture = start_with(Wish {
        committers: 4,
        ..Wish::default()
    })
    .await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let first = worker.take_node("a").await;
    worker.complete(&first).await.unwrap();
    let attempt = worker.take_node("b").await;
    let sent = (0..20).map(|_| {
        let (mut worker, attempt) = (worker.clone(), attempt.clone());
        async move { worker.complete(&attempt).await }
    });

    let answers = futures::future::join_all(sent).await;

    assert!(answers.iter().all(Result::is_ok));
    let run = fixture.run(&run).await;
    assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 1));
    assert_eq!(run.tasks.unwrap().succeeded, 2);
}
