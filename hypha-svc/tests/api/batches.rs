//! Many ends in one call: each has its own fence, and another worker's lease stops them all.

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    Attempt, CompleteManyRequest, CompleteManyResponse, Completion, RunState, TaskState,
};
use tonic::{Code, Status};

use crate::fixture::{Worker, graph, refusal, start};

fn completion(attempt: &Attempt, output: &'static str) -> Completion {
    Completion {
        lease: attempt.lease.clone(),
        output: Bytes::from_static(output.as_bytes()),
        usage: None,
    }
}

async fn complete(
    worker: &mut Worker,
    completions: Vec<Completion>,
    next: u32,
) -> Result<CompleteManyResponse, Status> {
    let request = CompleteManyRequest {
        registration_id: worker.registration.clone(),
        completions,
        next,
    };
    Ok(worker.client.complete_many(request).await?.into_inner())
}

#[tokio::test]
async fn a_batch_ends_its_attempts_and_brings_the_next() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture
        .start(graph("g", &["a", "b", "c", "d"], &["a->c", "b->d"]))
        .await;
    let first = [worker.take().await, worker.take().await];

    let ends = first.iter().map(|attempt| completion(attempt, "1"));
    let reply = complete(&mut worker, ends.collect(), 2).await.unwrap();

    assert!(reply.results.iter().all(|result| result.reason.is_empty()));
    assert!(
        reply
            .results
            .iter()
            .all(|result| result.state() == TaskState::Succeeded)
    );
    let mut nodes: Vec<&str> = reply
        .next
        .iter()
        .map(|attempt| attempt.node.as_str())
        .collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["c", "d"]);
    let ends = reply.next.iter().map(|attempt| completion(attempt, "2"));
    complete(&mut worker, ends.collect(), 0).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_stale_lease_or_a_bad_output_in_a_batch_is_told_and_the_others_stand() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b", "c"], &[])).await;
    let taken = worker.poll(3, 20_000).await.unwrap();
    let mut taken: Vec<Attempt> = taken;
    while taken.len() < 3 {
        taken.extend(worker.poll(3, 20_000).await.unwrap());
    }
    let mut stale = completion(&taken[0], "1");
    stale.lease.as_mut().unwrap().epoch = 7;

    let ends = vec![
        stale,
        completion(&taken[1], "{"),
        completion(&taken[2], "3"),
    ];
    let reply = complete(&mut worker, ends, 0).await.unwrap();

    let reasons: Vec<&str> = reply
        .results
        .iter()
        .map(|result| result.reason.as_str())
        .collect();
    assert_eq!(reasons, ["LEASE_LOST", "INVALID_OUTPUT", ""]);
    let states = fixture.states(&run).await;
    assert_eq!(states[&taken[1].node], TaskState::Failed);
    assert_eq!(states[&taken[2].node], TaskState::Succeeded);
}

#[tokio::test]
async fn the_same_batch_again_is_answered_as_the_first() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let attempt = worker.take().await;
    let ends = || vec![completion(&attempt, "1"), completion(&attempt, "1")];

    let first = complete(&mut worker, ends(), 0).await.unwrap();
    let again = complete(&mut worker, ends(), 0).await.unwrap();

    assert!(first.results.iter().all(|result| result.reason.is_empty()));
    assert_eq!(first, again);
    worker.take_node("b").await;
    assert!(worker.finds_nothing().await, "b was made ready once");
}

#[tokio::test]
async fn anothers_lease_in_a_batch_changes_nothing() {
    let fixture = start().await;
    let mut ours = fixture.worker("ours", &[]).await;
    let mut theirs = fixture.worker("theirs", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &[])).await;
    let (a, b) = (ours.take().await, theirs.take().await);

    let ends = vec![completion(&a, "1"), completion(&b, "1")];
    let refused = complete(&mut ours, ends, 0).await.unwrap_err();

    assert_eq!(
        refusal(&refused),
        (Code::PermissionDenied, "LEASE_NOT_YOURS".to_owned())
    );
    let states = fixture.states(&run).await;
    assert!(states.values().all(|state| *state == TaskState::Running));
    ours.complete(&a).await.unwrap();
    theirs.complete(&b).await.unwrap();
}

#[tokio::test]
async fn an_empty_batch_is_refused() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;

    let refused = complete(&mut worker, Vec::new(), 0).await.unwrap_err();

    assert_eq!(refused.code(), Code::InvalidArgument);
}
