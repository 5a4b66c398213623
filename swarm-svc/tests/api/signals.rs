//! What hypha tells of a turn's runs settles it, once, whatever else is told.

use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{DeliverRequest, RunSettled, Signal};
use cambium_proto::swarm::v1::target::Target as Kind;
use cambium_proto::swarm::v1::{
    ChargeSource, GetTurnRequest, GraphTarget, OpenMindRequest, Target, TickRequest, Turn,
    TurnState,
};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{Fixture, WORKSPACE, opening, ordinary_dial, start};

/// A mind whose turns are runs of a graph.
fn of_graph(mind: &str) -> OpenMindRequest {
    let target = Kind::Graph(GraphTarget {
        name: "daily".to_owned(),
        version: 0,
    });
    OpenMindRequest {
        target: Some(Target {
            target: Some(target),
        }),
        ..opening(mind)
    }
}

fn ended(turn: &str, cost_micro_usd: Option<i64>) -> Signal {
    let settled = RunSettled {
        turn_id: turn.to_owned(),
        run_id: Uuid::now_v7().to_string(),
        cost_micro_usd,
        declared_micro_usd: 5,
        outcome: "succeeded".to_owned(),
    };
    Signal {
        signal_id: Uuid::now_v7().to_string(),
        r#type: "coord.run_settled".to_owned(),
        class: 1,
        workspace_id: WORKSPACE.to_owned(),
        source: "hypha".to_owned(),
        payload: Some(Payload::RunSettled(settled)),
        ..Signal::default()
    }
}

impl Fixture {
    async fn told(&self, by: &str, signals: Vec<Signal>) -> Result<(), Status> {
        let told = self.hears(by).deliver(DeliverRequest { signals }).await;
        told.map(|_| ())
    }

    /// The turn that the next tick launches.
    async fn launched(&self) -> Turn {
        let request = TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let ticked = self.scheduler().tick(request).await.unwrap();
        ticked.into_inner().turn.unwrap()
    }

    async fn again(&self, turn: &Turn) -> Turn {
        let request = GetTurnRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
        };
        let found = self.timeline().get_turn(request).await.unwrap();
        found.into_inner().turn.unwrap()
    }
}

#[tokio::test]
async fn the_end_of_its_runs_settles_a_turn_once() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.minds().open_mind(of_graph("eureka")).await.unwrap();
    swarm.share("eureka", 1_000_000).await.unwrap();
    swarm.release("eureka").await;
    let turn = swarm.launched().await;
    let first = ended(&turn.turn_id, Some(1_234));

    let stranger = swarm.told("genesis", vec![first.clone()]).await;
    assert_eq!(swarm.again(&turn).await.state(), TurnState::Granted);
    swarm.told("hypha", vec![first.clone()]).await.unwrap();
    swarm.told("hypha", vec![first]).await.unwrap();
    let other = ended(&turn.turn_id, Some(9));
    swarm.told("hypha", vec![other]).await.unwrap();

    assert_eq!(stranger.unwrap_err().code(), Code::PermissionDenied);
    let settled = swarm.again(&turn).await;
    assert_eq!(settled.state(), TurnState::Settled);
    let charge = settled.charge.unwrap();
    assert_eq!((charge.cost_micro_usd, charge.measured), (1_234, true));
    assert_eq!(charge.declared_micro_usd, Some(5));
    assert_eq!(charge.source(), ChargeSource::Run);
}

#[tokio::test]
async fn what_nobody_measured_or_could_have_costs_the_cap() {
    for cost in [None, Some(-1), Some(10_000_001)] {
        let swarm = start().await;
        swarm.dial(ordinary_dial()).await;
        swarm.minds().open_mind(of_graph("eureka")).await.unwrap();
        swarm.share("eureka", 1_000_000).await.unwrap();
        swarm.release("eureka").await;
        let turn = swarm.launched().await;

        let told = swarm.told("hypha", vec![ended(&turn.turn_id, cost)]).await;

        told.unwrap();
        let charge = swarm.again(&turn).await.charge.unwrap();
        assert_eq!(
            (charge.cost_micro_usd, charge.measured),
            (1_000_000, false),
            "{cost:?}"
        );
    }
}

#[tokio::test]
async fn a_turn_of_a_body_is_its_meters_and_an_unknown_one_nobodys() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("eureka", 1_000_000).await;
    let turn = swarm.launched().await;
    let stranger = Uuid::now_v7().to_string();

    let told = vec![ended(&turn.turn_id, Some(7)), ended(&stranger, Some(7))];
    swarm.told("hypha", told).await.unwrap();

    assert_eq!(swarm.again(&turn).await.state(), TurnState::Granted);
    let charges: i64 = sqlx::query_scalar("SELECT count(*) FROM swarm.charge")
        .fetch_one(&swarm.database.owner)
        .await
        .unwrap();
    assert_eq!(charges, 0);
}
