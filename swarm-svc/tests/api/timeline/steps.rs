//! What the tests of the timeline do again and again.

use cambium_proto::swarm::v1::timeline_service_client::TimelineServiceClient;
use cambium_proto::swarm::v1::{
    AckGrantRequest, Charge, ExplainMindRequest, ExplainMindResponse, GetTurnRequest,
    GetTurnResponse, HeartbeatRequest, HeartbeatResponse, Period, RecordChargeRequest,
    RecordChargeResponse, SetDialRequest, SetWalletRequest, TickRequest, TickResponse,
    TimelineMind, Turn, TurnGrant, Why,
};
use chrono::TimeDelta;
use futures::future::join_all;
use tonic::Status;

use crate::control_steps::line;
use crate::fixture::{Authorized, Fixture, WORKSPACE, ordinary_dial, reason, request_id, start};

pub(super) type Client = TimelineServiceClient<Authorized>;

/// What the turns of [`rich`] cost at most.
pub(super) const CAP: i64 = 1_000_000;

/// A swarm with more money than its tests spend, and so many turns at once.
pub(super) async fn rich(k: i64) -> Fixture {
    let swarm = start().await;
    swarm
        .dial(SetDialRequest {
            k,
            burst_micro_usd: Some(1_000 * CAP),
            ..ordinary_dial()
        })
        .await;
    swarm.advance(TimeDelta::hours(1)).await;
    swarm
}

/// One scheduler's tick; whoever loses a race asks again.
pub(super) async fn tick_by(mut scheduler: Client) -> TickResponse {
    loop {
        let request = TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        match scheduler.tick(request).await {
            Ok(reply) => return reply.into_inner(),
            Err(status) => assert_eq!(reason(&status), "RACED", "{status}"),
        }
    }
}

/// So many schedulers at once, on both replicas by turns: what they launched, by slot, and why the others did not.
pub(super) async fn race(swarm: &Fixture, other: &Client, ticks: usize) -> (Vec<Turn>, Vec<Why>) {
    let asked = (0..ticks).map(|n| match n % 2 {
        0 => tick_by(swarm.scheduler()),
        _ => tick_by(other.clone()),
    });
    let (mut turns, mut skips) = (Vec::new(), Vec::new());
    for reply in join_all(asked).await {
        let skip = reply.skip();
        match reply.turn {
            Some(turn) => turns.push(turn),
            None => skips.push(skip),
        }
    }
    turns.sort_by_key(|turn| turn.slot);
    (turns, skips)
}

pub(super) async fn ack(swarm: &Fixture, turn: &Turn, holder: &str) -> Result<Turn, Status> {
    let request = AckGrantRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
        epoch: turn.epoch,
        holder: holder.to_owned(),
    };
    let reply = swarm.body().ack_grant(request).await?;
    Ok(reply.into_inner().turn.unwrap())
}

pub(super) async fn beat(
    swarm: &Fixture,
    turn: &Turn,
    holder: &str,
) -> Result<HeartbeatResponse, Status> {
    let request = HeartbeatRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
        epoch: turn.epoch,
        holder: holder.to_owned(),
    };
    Ok(swarm.body().heartbeat(request).await?.into_inner())
}

/// What a meter says of a turn, under a new request id.
pub(super) fn charging(turn: &Turn, cost: Option<i64>) -> RecordChargeRequest {
    RecordChargeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        turn_id: turn.turn_id.clone(),
        cost_micro_usd: cost,
        ..RecordChargeRequest::default()
    }
}

pub(super) async fn charge(
    swarm: &Fixture,
    request: RecordChargeRequest,
) -> Result<RecordChargeResponse, Status> {
    Ok(swarm.meter().record_charge(request).await?.into_inner())
}

pub(super) async fn settle(swarm: &Fixture, turn: &Turn, cost: i64) -> Charge {
    let reply = charge(swarm, charging(turn, Some(cost))).await.unwrap();
    assert!(!reply.already);
    reply.charge.unwrap()
}

pub(super) async fn look(swarm: &Fixture, turn: &Turn) -> GetTurnResponse {
    let request = GetTurnRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
    };
    let reply = swarm.timeline().get_turn(request).await;
    reply.unwrap().into_inner()
}

pub(super) async fn grant(swarm: &Fixture, turn: &Turn) -> TurnGrant {
    look(swarm, turn).await.grant.unwrap()
}

pub(super) async fn explain(swarm: &Fixture, mind: &str) -> ExplainMindResponse {
    let request = ExplainMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: mind.to_owned(),
    };
    let reply = swarm.timeline().explain_mind(request).await;
    reply.unwrap().into_inner()
}

/// A mind as the timeline shows it.
pub(super) async fn seat(swarm: &Fixture, mind: &str) -> TimelineMind {
    let minds = line(swarm).await.minds;
    let mut minds = minds.into_iter();
    minds.find(|one| one.instance == mind).unwrap()
}

pub(super) async fn daily(swarm: &Fixture, limit: i64) {
    let request = SetWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        limit_micro_usd: Some(limit),
        period: Period::Day.into(),
    };
    swarm.control().set_wallet(request).await.unwrap();
}

/// By the tables' owner, behind the service's back.
pub(super) async fn sql(swarm: &Fixture, statement: &'static str) {
    let statement = sqlx::query(statement);
    statement.execute(&swarm.database.owner).await.unwrap();
}

pub(super) async fn number(swarm: &Fixture, select: &'static str) -> i64 {
    let number = sqlx::query_scalar(select).fetch_one(&swarm.database.owner);
    number.await.unwrap()
}

/// Until so many of this database's sessions wait for a lock.
pub(super) async fn until_waiting(swarm: &Fixture, sessions: i64) {
    let waiting = "SELECT count(DISTINCT l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                   WHERE NOT l.granted AND a.datname = current_database()";
    for _ in 0..400 {
        if number(swarm, waiting).await >= sessions {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("nobody waits for the lock");
}
