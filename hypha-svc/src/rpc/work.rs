//! The `Work` stream: polls, ends and heartbeats of one worker, each frame answered as its calls would be.
//!
//! A frame's credit counts before its ends are made, so that what they make ready finds it. Frames are answered as they
//! are done, in any order; what is ready at one moment goes out in one frame.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cambium_proto::hypha::v1::{
    EndResult, Lease, LeaseState, LeaseStatus, WorkRequest, WorkResponse,
};
use cambium_service_kit::principal::Principal;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::app::App;
use crate::app::attempt::build;
use crate::convert::{ending, id};
use crate::engine::credit::Credit;
use crate::engine::grant::Grants;
use crate::engine::registration::Registration;
use crate::error::Error;

/// Frames whose answers are outstanding: past that, the worker's next frames wait.
const MOST_FRAMES: usize = 64;
/// Replies that a slow reader may leave lying.
const MOST_REPLIES: usize = 16;
/// Ends, and heartbeats, that one frame brings.
const MOST_PARTS: usize = 1_000;
/// How often a stream looks whether its worker was replaced, and its token is due.
const LOOK: Duration = Duration::from_secs(1);

type Replies = mpsc::Sender<Result<WorkResponse, Status>>;

/// Serves a stream until its worker ends it.
pub(crate) fn open(
    app: App,
    principal: Arc<Principal>,
    frames: Streaming<WorkRequest>,
) -> ReceiverStream<Result<WorkResponse, Status>> {
    let (replies, receiver) = mpsc::channel(MOST_REPLIES);
    tokio::spawn(async move {
        if let Err(status) = serve(app, principal, frames, &replies).await {
            // Nobody reads any more: fine.
            let _ = replies.send(Err(status)).await;
        }
    });
    ReceiverStream::new(receiver)
}

async fn serve(
    app: App,
    principal: Arc<Principal>,
    mut frames: Streaming<WorkRequest>,
    replies: &Replies,
) -> Result<(), Status> {
    let Some(first) = frames.message().await? else {
        return Ok(());
    };
    let registration = app.registration(&principal, &first.registration_id).await?;
    if registration.draining.load(Ordering::Relaxed) {
        return Err(Error::Draining.into());
    }
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut session = Session {
        credit: Credit::open(app.engine.clone(), registration.clone()),
        pending: FuturesUnordered::new(),
        open: true,
        draining: false,
        token_sent: false,
        looks,
        app,
        principal,
        registration,
    };
    session.hear(first)?;
    session.run(&mut frames, replies).await
}

struct Session {
    app: App,
    principal: Arc<Principal>,
    registration: Arc<Registration>,
    credit: Credit,
    /// Frames that are being answered.
    pending: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// Whether the worker may say more.
    open: bool,
    draining: bool,
    token_sent: bool,
    looks: Interval,
}

/// What came of one frame.
#[derive(Debug, Default)]
struct Answer {
    results: Vec<EndResult>,
    leases: Vec<LeaseStatus>,
}

impl Session {
    async fn run(
        &mut self,
        frames: &mut Streaming<WorkRequest>,
        replies: &Replies,
    ) -> Result<(), Status> {
        while self.open || !self.pending.is_empty() {
            let mut reply = WorkResponse::default();
            let mut grants = Grants::none();
            let reads = self.open && self.pending.len() < MOST_FRAMES;
            tokio::select! {
                biased;
                Some(answer) = self.pending.next() => add(&mut reply, answer),
                got = self.credit.next() => grants = got,
                frame = frames.message(), if reads => match frame? {
                    Some(frame) => self.hear(frame)?,
                    None => self.close(),
                },
                _ = self.looks.tick() => self.look(&mut reply)?,
                () = self.app.stop.stopped(), if self.open => self.close(),
            }
            while let Some(Some(answer)) = self.pending.next().now_or_never() {
                add(&mut reply, answer);
            }
            while let Some(more) = self.credit.ready() {
                grants = grants.join(more);
            }
            self.add_attempts(&mut reply, grants).await;
            if reply != WorkResponse::default() && replies.send(Ok(reply)).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The worker says no more, or shall hear no more: what it has said is still answered.
    fn close(&mut self) {
        self.open = false;
        self.credit.withdraw();
    }

    fn hear(&mut self, frame: WorkRequest) -> Result<(), Error> {
        let ends = frame.completions.len()
            + frame.failures.len()
            + frame.parks.len()
            + frame.releases.len();
        if ends > MOST_PARTS || frame.heartbeats.len() > MOST_PARTS {
            return Err(Error::field("completions", "of one frame are over 1,000"));
        }
        if !self.credit.widen(frame.credit) {
            return Err(Error::field(
                "credit",
                "would leave over 10,000 attempts open",
            ));
        }
        if ends > 0 || !frame.heartbeats.is_empty() {
            let (app, registration) = (self.app.clone(), self.registration.clone());
            self.pending.push(answer(app, registration, frame).boxed());
        }
        Ok(())
    }

    /// What changes without a frame: the worker was replaced, or its token is due.
    fn look(&mut self, reply: &mut WorkResponse) -> Result<(), Error> {
        if !self.draining && self.registration.draining.load(Ordering::Relaxed) {
            self.draining = true;
            reply.draining = true;
            self.credit.withdraw();
        }
        if !self.token_sent {
            reply.token = self.app.next_token(&self.principal);
            self.token_sent = !reply.token.is_empty();
        }
        if self.app.clock.now() > self.principal.expires_at {
            return Err(Error::TokenRanOut);
        }
        Ok(())
    }

    /// What cannot be sent goes back to the queue, and its credit to the worker.
    async fn add_attempts(&mut self, reply: &mut WorkResponse, grants: Grants) {
        let count = grants.as_slice().len();
        if count == 0 {
            return;
        }
        match build(&self.app.pool, &self.app.engine, grants).await {
            Ok(attempts) => reply.attempts = attempts,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "attempts went back to the queue");
            }
        }
        let back = count - reply.attempts.len();
        self.credit.widen(u32::try_from(back).unwrap_or(0));
    }
}

fn add(reply: &mut WorkResponse, mut answer: Answer) {
    reply.results.append(&mut answer.results);
    reply.leases.append(&mut answer.leases);
}

async fn answer(app: App, registration: Arc<Registration>, frame: WorkRequest) -> Answer {
    Answer {
        results: end(&app, &registration, &frame).await,
        leases: beat(&app, &registration, &frame.heartbeats).await,
    }
}

/// Makes the ends of a frame, in one transaction.
async fn end(app: &App, registration: &Arc<Registration>, frame: &WorkRequest) -> Vec<EndResult> {
    let mut leases: Vec<Option<&Lease>> = Vec::new();
    let mut endings = Vec::new();
    for one in &frame.completions {
        leases.push(one.lease.as_ref());
        endings.push(ending::complete(one.lease.as_ref(), &one.output, one.usage));
    }
    for one in &frame.failures {
        leases.push(one.lease.as_ref());
        endings.push(ending::fail(one));
    }
    for one in &frame.parks {
        leases.push(one.lease.as_ref());
        endings.push(ending::park(one));
    }
    for one in &frame.releases {
        leases.push(one.lease.as_ref());
        endings.push(ending::release(one));
    }
    if endings.is_empty() {
        return Vec::new();
    }
    let leases = leases.into_iter();
    match app.end_all(registration, endings, 0).await {
        Ok((ends, _)) => {
            let ended = leases.zip(ends);
            ended
                .map(|(lease, end)| ending::result_to_wire(lease, end))
                .collect()
        }
        Err(error) => leases
            .map(|lease| ending::result_to_wire(lease, Err(error.for_another())))
            .collect(),
    }
}

/// Extends leases. One that cannot be read, or not now, is answered without a state: the worker asks again.
async fn beat(app: &App, registration: &Registration, leases: &[Lease]) -> Vec<LeaseStatus> {
    let presented: Vec<_> = leases.iter().map(|lease| id::lease(Some(lease))).collect();
    let readable: Vec<_> = presented.iter().flatten().copied().collect();
    let mut states = match app.heartbeat(registration, &readable).await {
        Ok(states) => states.into_iter(),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "heartbeats of a stream were not answered");
            Vec::new().into_iter()
        }
    };
    let unknown = |lease: &Lease, state: LeaseState| LeaseStatus {
        lease_id: lease.lease_id.clone(),
        state: state.into(),
        lease_ms: 0,
    };
    let each = leases.iter().zip(presented);
    each.map(|(lease, presented)| match presented {
        Ok(_) => states
            .next()
            .unwrap_or_else(|| unknown(lease, LeaseState::Unspecified)),
        Err(_) => unknown(lease, LeaseState::NotFound),
    })
    .collect()
}
