//! Runs take turns: a large one does not keep a small one waiting.

use crate::fixture::start;
use crate::matching::loose;

#[tokio::test]
async fn a_large_run_does_not_starve_a_small_one() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.start(loose("large", 400)).await;
    for _ in 0..10 {
        worker.take().await;
    }

    fixture.start(loose("small", 5)).await;

    let mut next = Vec::new();
    for _ in 0..12 {
        next.push(worker.take().await.node);
    }
    let small = next.iter().filter(|node| node.starts_with("small"));
    assert_eq!(small.count(), 5, "{next:?}");
}

#[tokio::test]
async fn runs_of_one_key_share_a_turn() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    for name in ["x", "y"] {
        let mut graph = loose(name, 20);
        graph.fair_key = "press".to_owned();
        fixture.start(graph).await;
    }
    fixture.start(loose("z", 20)).await;

    let mut next = Vec::new();
    for _ in 0..20 {
        next.push(worker.take().await.node);
    }

    let alone = next.iter().filter(|node| node.starts_with('z')).count();
    assert!((9..=11).contains(&alone), "{next:?}");
}
