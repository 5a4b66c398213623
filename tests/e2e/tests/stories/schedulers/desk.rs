//! A body of all minds at one scheduler: takes what it is granted there, and has it metered at either. Two of them listen for the same
//! turns, and each turn has one taker.

use std::collections::BTreeSet;
use std::time::Duration;

use cambium_client::Connection;
use cambium_proto::swarm::v1::target::Target as Kind;
use cambium_proto::swarm::v1::watch_grants_response::Item;
use cambium_proto::swarm::v1::{
    AckGrantRequest, BodyTarget, Grant, RecordChargeRequest, Target, WatchGrantsRequest,
};
use cambium_service_kit::shutdown::Stop;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;
use tonic::{Code, Status};
use uuid::Uuid;

use super::CAP;
use crate::house::pair::Pair;

pub(crate) const WORKSPACE: &str = "default";
const BODY: &str = "desk";
/// Between two tries while a scheduler is away.
const AGAIN: Duration = Duration::from_millis(20);

/// The target of every mind.
pub(super) fn body() -> Option<Target> {
    Some(Target {
        target: Some(Kind::Body(BodyTarget {
            name: BODY.to_owned(),
            organs: Vec::new(),
        })),
    })
}

pub(crate) struct Desk {
    working: JoinHandle<usize>,
}

#[derive(Clone)]
struct Hands {
    holder: String,
    /// Own scheduler first.
    doors: [Connection; 2],
    meters: [Connection; 2],
}

impl Desk {
    pub(crate) fn sit(pair: &Pair, number: usize, seed: u64, stop: &Stop) -> Self {
        let order = [number, 1 - number];
        let worker = pair.keys.worker_named(BODY);
        let hands = Hands {
            holder: format!("{BODY}-{number}"),
            doors: order.map(|number| pair.door(number, &worker)),
            meters: order.map(|number| pair.door(number, &pair.keys.meter())),
        };
        let random = StdRng::seed_from_u64(seed.wrapping_add(u64::try_from(number).unwrap()));
        Self {
            working: tokio::spawn(hands.work(random, stop.clone())),
        }
    }

    /// How many turns it has taken and had charged.
    pub(crate) async fn rise(self) -> usize {
        self.working.await.unwrap()
    }
}

impl Hands {
    async fn work(self, mut random: StdRng, stop: Stop) -> usize {
        let mut seen = BTreeSet::new();
        let mut turns = JoinSet::new();
        while !stop.is_stopped() {
            tokio::select! {
                () = self.listen(&mut seen, &mut turns, &mut random) => sleep(AGAIN).await,
                () = stop.stopped() => {}
            }
        }
        let mut taken = 0;
        while let Some(ended) = turns.join_next().await {
            taken += usize::from(ended.unwrap());
        }
        taken
    }

    /// One stream, until it breaks.
    async fn listen(
        &self,
        seen: &mut BTreeSet<String>,
        turns: &mut JoinSet<bool>,
        random: &mut StdRng,
    ) {
        let request = WatchGrantsRequest {
            workspace_id: WORKSPACE.to_owned(),
            body: BODY.to_owned(),
        };
        let Ok(stream) = self.doors[0].timeline().watch_grants(request).await else {
            return;
        };
        let mut stream = stream.into_inner();
        while let Ok(Some(reply)) = stream.message().await {
            let Some(Item::Grant(grant)) = reply.item else {
                continue;
            };
            // What lives is sent again by every new stream.
            if seen.insert(grant.turn_id.clone()) {
                let work = Work {
                    takes: Duration::from_millis(random.random_range(0..30)),
                    // One in ten is not measured.
                    cost: random
                        .random_ratio(9, 10)
                        .then(|| random.random_range(0..CAP)),
                    told: random.random_range(1..3),
                };
                turns.spawn(self.clone().take(grant, work));
            }
        }
    }

    /// Whether the turn was ours.
    async fn take(self, grant: Grant, work: Work) -> bool {
        if !self.acknowledge(&grant).await {
            return false;
        }
        sleep(work.takes).await;
        for _ in 0..work.told {
            self.charge(&grant, work.cost).await;
        }
        true
    }

    async fn acknowledge(&self, grant: &Grant) -> bool {
        let request = AckGrantRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: grant.turn_id.clone(),
            epoch: grant.epoch,
            holder: self.holder.clone(),
        };
        for door in self.doors.iter().cycle() {
            match door.timeline().ack_grant(request.clone()).await {
                Ok(_) => return true,
                Err(status) if is_away(&status) => sleep(AGAIN).await,
                // The other one has it, or it is over.
                Err(_) => return false,
            }
        }
        false
    }

    /// Says what it cost until somebody has heard it. A second figure, under another request, must change nothing.
    async fn charge(&self, grant: &Grant, cost: Option<i64>) {
        let request = RecordChargeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::new_v4().to_string(),
            turn_id: grant.turn_id.clone(),
            cost_micro_usd: cost,
            ..RecordChargeRequest::default()
        };
        for meter in self.meters.iter().cycle() {
            match meter.timeline().record_charge(request.clone()).await {
                Ok(_) => return,
                Err(status) if is_away(&status) => sleep(AGAIN).await,
                Err(status) => panic!("a charge is refused: {status:?}"),
            }
        }
    }
}

/// How a turn goes.
struct Work {
    takes: Duration,
    cost: Option<i64>,
    /// How often the meter says so.
    told: usize,
}

fn is_away(status: &Status) -> bool {
    !matches!(
        status.code(),
        Code::InvalidArgument
            | Code::NotFound
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::AlreadyExists
            | Code::Aborted
    )
}
