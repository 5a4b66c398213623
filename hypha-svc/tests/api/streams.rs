//! The `Work` stream: credit brings attempts, frames end them, and what a stream leaves goes to others.

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    Attempt, Completion, EndResult, FailRequest, LeaseState, ReleaseRequest, RunState, TaskState,
    WorkRequest, WorkResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::fixture::{Worker, graph, reason, registration, start};

/// A worker's end of a stream.
struct Stream {
    frames: Option<mpsc::UnboundedSender<WorkRequest>>,
    replies: Streaming<WorkResponse>,
    attempts: Vec<Attempt>,
    results: Vec<EndResult>,
}

impl Stream {
    async fn open(worker: &mut Worker, credit: u32) -> Self {
        let (frames, receiver) = mpsc::unbounded_channel();
        frames
            .send(WorkRequest {
                registration_id: worker.registration.clone(),
                credit,
                ..WorkRequest::default()
            })
            .unwrap();
        let replies = worker
            .client
            .work(UnboundedReceiverStream::new(receiver))
            .await;
        Self {
            frames: Some(frames),
            replies: replies.unwrap().into_inner(),
            attempts: Vec::new(),
            results: Vec::new(),
        }
    }

    fn say(&self, frame: WorkRequest) {
        self.frames.as_ref().unwrap().send(frame).unwrap();
    }

    /// The next frame, which must come within bounds.
    async fn hear(&mut self) -> Result<Option<WorkResponse>, Status> {
        let bound = std::time::Duration::from_secs(20);
        let reply = tokio::time::timeout(bound, self.replies.message()).await;
        let reply = reply.expect("a frame was expected")?;
        if let Some(reply) = &reply {
            self.attempts.extend(reply.attempts.iter().cloned());
            self.results.extend(reply.results.iter().cloned());
        }
        Ok(reply)
    }

    async fn take(&mut self) -> Attempt {
        while self.attempts.is_empty() {
            self.hear().await.unwrap().expect("the stream goes on");
        }
        self.attempts.remove(0)
    }

    async fn result(&mut self) -> EndResult {
        while self.results.is_empty() {
            self.hear().await.unwrap().expect("the stream goes on");
        }
        self.results.remove(0)
    }
}

fn completing(attempt: &Attempt, output: &'static str, credit: u32) -> WorkRequest {
    WorkRequest {
        credit,
        completions: vec![Completion {
            lease: attempt.lease.clone(),
            output: Bytes::from_static(output.as_bytes()),
            usage: None,
        }],
        ..WorkRequest::default()
    }
}

#[tokio::test]
async fn a_run_is_done_over_one_stream() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut stream = Stream::open(&mut worker, 2).await;
    let edges = ["a->b", "a->c", "b->d", "c->d", "d->e"];
    let run = fixture
        .start(graph("g", &["a", "b", "c", "d", "e"], &edges))
        .await;

    for _ in 0..5 {
        let attempt = stream.take().await;
        stream.say(completing(&attempt, "1", 1));
        assert_eq!(stream.result().await.reason, "");
    }

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn no_more_comes_than_credit_was_given() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut other = fixture.worker("other", &[]).await;
    let mut stream = Stream::open(&mut worker, 2).await;
    fixture.start(graph("g", &["a", "b", "c"], &[])).await;

    let held = [stream.take().await, stream.take().await];
    let third = other.take().await;

    assert!(stream.attempts.is_empty());
    assert!(held.iter().all(|attempt| attempt.node != third.node));
}

#[tokio::test]
async fn every_kind_of_end_and_a_heartbeat_fit_one_frame() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut stream = Stream::open(&mut worker, 4).await;
    let mut wanted = graph("g", &["a", "b", "c", "d"], &[]);
    wanted.fail_fast = Some(false);
    let run = fixture.start(wanted).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(stream.take().await);
    }

    let mut frame = completing(&held[0], "{", 0);
    frame.failures = vec![FailRequest {
        lease: held[1].lease.clone(),
        code: "BROKEN".to_owned(),
        ..FailRequest::default()
    }];
    frame.releases = vec![ReleaseRequest {
        lease: held[2].lease.clone(),
        ..ReleaseRequest::default()
    }];
    frame.heartbeats = held[3].lease.clone().into_iter().collect();
    stream.say(frame);
    let reply = stream.hear().await.unwrap().unwrap();

    let told: Vec<(&str, TaskState)> = reply
        .results
        .iter()
        .map(|result| (result.reason.as_str(), result.state()))
        .collect();
    let expected = [
        ("INVALID_OUTPUT", TaskState::Unspecified),
        ("", TaskState::Failed),
        ("", TaskState::Ready),
    ];
    assert_eq!(told, expected);
    assert_eq!(reply.leases[0].state(), LeaseState::Ok);
    let states = fixture.states(&run).await;
    assert_eq!(states[&held[0].node], TaskState::Failed);
}

#[tokio::test]
async fn a_stale_lease_changes_nothing_and_the_stream_goes_on() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut stream = Stream::open(&mut worker, 1).await;
    fixture.start(graph("g", &["a"], &[])).await;
    let attempt = stream.take().await;

    let mut stale = attempt.clone();
    stale.lease.as_mut().unwrap().epoch = 9;
    stream.say(completing(&stale, "1", 0));
    assert_eq!(stream.result().await.reason, "LEASE_LOST");
    stream.say(completing(&attempt, "1", 0));

    assert_eq!(stream.result().await.state(), TaskState::Succeeded);
}

#[tokio::test]
async fn the_credit_of_a_stream_that_broke_is_nobodys() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut other = fixture.worker("other", &[]).await;
    let stream = Stream::open(&mut worker, 100).await;
    drop(stream);

    fixture.start(graph("g", &["a", "b"], &["a->b"])).await;

    for node in ["a", "b"] {
        let attempt = other.take_node(node).await;
        other.complete(&attempt).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_said_before_the_end_of_a_stream_is_answered() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut stream = Stream::open(&mut worker, 1).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let attempt = stream.take().await;

    stream.say(completing(&attempt, "1", 5));
    stream.frames = None;
    assert_eq!(stream.result().await.state(), TaskState::Succeeded);

    assert_eq!(stream.hear().await.unwrap(), None);
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_replaced_worker_is_told_and_finishes_what_it_holds() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut stream = Stream::open(&mut worker, 10).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let attempt = stream.take().await;

    let newer = registration("w", std::slice::from_ref(&worker.agent));
    let newer = worker.client.register(newer).await.unwrap().into_inner();
    while !stream.hear().await.unwrap().unwrap().draining {}
    stream.say(completing(&attempt, "1", 1));
    assert_eq!(stream.result().await.state(), TaskState::Succeeded);

    worker.registration = newer.registration_id;
    let attempt = worker.take_node("b").await;
    worker.complete(&attempt).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_stream_without_a_registration_or_with_too_much_credit_ends_with_the_reason() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;

    let mut greedy = Stream::open(&mut worker, 10_001).await;
    let refused = greedy.hear().await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    worker.registration = crate::fixture::id();
    let mut stranger = Stream::open(&mut worker, 1).await;
    let refused = stranger.hear().await.unwrap_err();

    assert_eq!(reason(&refused), "REGISTRATION_UNKNOWN");
}
