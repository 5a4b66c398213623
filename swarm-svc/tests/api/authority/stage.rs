//! What a row presupposes, brought about as anybody would bring it about: by calls.

use std::collections::BTreeMap;

use cambium_proto::swarm::v1::{
    AckGrantRequest, Fresh, LendShareRequest, MintMindTokenRequest, Organ, TickRequest, Turn,
};
use chrono::TimeDelta;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::rows::{Condition, Row};
use crate::agenda::stamp;
use crate::fixture::{Fixture, WORKSPACE, opening, ordinary_dial, request_id, start};
use crate::lead::to;
use crate::record::{question, ruling};

pub(super) const HOUR: TimeDelta = TimeDelta::hours(1);
/// A mind that no row names.
pub(super) const OTHER: &str = "third";
/// Where a row's turn never was.
pub(super) const NO_TURN: &str = "01890000-0000-7000-8000-000000000000";

/// As whom a row is played.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// With the token of the principal's kind.
    Itself,
    /// As a mind, by a session of the operator with it.
    Session(Organ),
    /// As a mind, by a live turn.
    Turn(Organ),
}

/// A swarm in which a row can be played.
pub(super) struct Stage {
    pub(super) swarm: Fixture,
    /// None is a stranger.
    pub(super) tokens: Vec<Option<String>>,
    pub(super) turn: Option<Turn>,
    /// Work that is addressed to nobody.
    pub(super) work: Option<String>,
}

impl Fixture {
    /// Opens a mind with a persona and a share.
    pub(super) async fn bear_whole(&self, mind: &str) {
        let mut birth = opening(mind);
        birth.fresh = Some(Fresh {
            public_name: mind.to_owned(),
            ..Fresh::default()
        });
        self.minds().open_mind(birth).await.unwrap();
        self.share(mind, 1_000_000).await.unwrap();
    }

    /// Lets this mind alone have a turn, which its body takes.
    pub(super) async fn turn_of(&self, mind: &str) -> Turn {
        self.release(mind).await;
        let tick = TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let ticked = self.scheduler().tick(tick).await.unwrap();
        let turn = ticked.into_inner().turn.unwrap();
        assert_eq!(turn.instance, mind);
        let ack = AckGrantRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
            epoch: turn.epoch,
            holder: "h1".to_owned(),
        };
        self.body().ack_grant(ack).await.unwrap();
        turn
    }

    async fn mind_by(&self, turn: &Turn, organ: Organ) -> String {
        let mint = MintMindTokenRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
            epoch: turn.epoch,
            organ: organ.into(),
            ..MintMindTokenRequest::default()
        };
        let minted = self.body().mint_mind_token(mint).await.unwrap();
        minted.into_inner().token
    }

    /// A ruling of a mind's own, written in a session that is over.
    pub(super) async fn rules(&self, mind: &str) {
        let token = self.operate(mind, Organ::Self_).await;
        let ruled = vec![ruling(mind, "first", "mind", &json!({}))];
        self.append(&token, ruled).await.unwrap();
        self.end_session_with(mind).await;
    }

    /// What there is but for what tells of calls: the rows of every table.
    pub(super) async fn state_of_all(&self) -> BTreeMap<String, String> {
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT table_name::text FROM information_schema.tables
             WHERE table_schema = 'swarm' AND table_type = 'BASE TABLE'
               AND table_name NOT IN ('audit', 'event', 'receipt', 'log_head')",
        )
        .fetch_all(&self.database.owner)
        .await
        .unwrap();
        assert!(tables.len() > 20, "{tables:?}");
        let each = |table: &String| {
            format!(
                "SELECT '{table}', coalesce(jsonb_agg(to_jsonb(t) ORDER BY t::text), '[]')::text FROM swarm.\"{table}\" t"
            )
        };
        let all: Vec<String> = tables.iter().map(each).collect();
        let all = AssertSqlSafe(all.join(" UNION ALL "));
        let rows: Vec<(String, String)> = sqlx::query_as(all)
            .fetch_all(&self.database.owner)
            .await
            .unwrap();
        rows.into_iter().collect()
    }
}

impl Stage {
    pub(super) async fn set(row: &Row, condition: &Condition, by: By) -> Self {
        let swarm = start().await;
        swarm.dial(ordinary_dial()).await;
        for mind in ["weksa", "eureka", OTHER] {
            swarm.bear_whole(mind).await;
        }
        written(&swarm, row).await;
        if let Some(lead) = condition.get("lead") {
            swarm.routing().move_lead(to(lead)).await.unwrap();
        }
        if let Some(steward) = condition.get("steward") {
            swarm.take(steward, &row.thing).await.unwrap();
        }
        let work = match row.sort.as_str() {
            "work" => Some(swarm.submit("").await.work_id),
            _ => None,
        };
        let mut stage = Self {
            swarm,
            tokens: Vec::new(),
            turn: None,
            work,
        };
        stage.arrange(row, condition).await;
        stage.enter(row, by).await;
        if condition.get("brake").is_some_and(|brake| brake == "held") {
            stage.swarm.hold(&row.thing).await;
        }
        stage
    }

    async fn arrange(&mut self, row: &Row, condition: &Condition) {
        let is = |key: &str, value: &str| condition.get(key).is_some_and(|given| given == value);
        if is("mind_state", "asleep") {
            let birth = opening(&row.thing);
            self.swarm.minds().open_mind(birth).await.unwrap();
        }
        if is("mind_state", "awake") || is("live", "0") {
            self.swarm.release(&row.thing).await;
        }
        if let Some(borrowed) = condition.get("borrowed_of_own_ppm") {
            self.borrow(&row.name, borrowed.parse().unwrap()).await;
        }
        if is("turn", "ended") {
            let (mind, _) = row.thing.split_once('/').unwrap();
            self.turn = Some(self.swarm.turn_of(mind).await);
        }
    }

    /// Another mind lends that much to this one.
    async fn borrow(&self, mind: &str, share_ppm: i64) {
        self.swarm.bear_whole("norn").await;
        self.swarm.share("norn", 2 * share_ppm).await.unwrap();
        let norn = self.swarm.operate("norn", Organ::Self_).await;
        let lend = LendShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            borrower: mind.to_owned(),
            share_ppm,
            until: stamp(self.swarm.now() + HOUR),
        };
        let mut loans = self.swarm.loans_bearing(&norn);
        loans.lend_share(lend).await.unwrap();
    }

    /// Takes on who the row says.
    async fn enter(&mut self, row: &Row, by: By) {
        let keys = &self.swarm.keys;
        let token = match (row.kind.as_str(), by) {
            ("mind", By::Session(organ)) => self.swarm.operate(&row.name, organ).await,
            ("mind", By::Turn(organ)) => {
                if self.turn.is_none() {
                    self.turn = Some(self.swarm.turn_of(&row.name).await);
                }
                let turn = self.turn.as_ref().unwrap();
                self.swarm.mind_by(turn, organ).await
            }
            ("operator", _) => keys.operator(),
            ("viewer", _) => keys.viewer(),
            ("scheduler", _) => keys.scheduler(),
            ("meter", _) => keys.meter(),
            ("anonymous", _) => {
                self.tokens = vec![None];
                return;
            }
            ("*", _) => {
                let mind = self.swarm.operate(OTHER, Organ::Self_).await;
                let all = [
                    keys.operator(),
                    mind,
                    keys.agent("a"),
                    keys.worker_named("w1"),
                    keys.service("hypha"),
                    keys.scheduler(),
                    keys.meter(),
                    keys.viewer(),
                ];
                self.tokens = all.into_iter().map(Some).collect();
                return;
            }
            (other, _) => panic!("the cases have a new kind of principal: {other}"),
        };
        self.tokens = vec![Some(token)];
    }
}

/// What stands in records when the row begins.
async fn written(swarm: &Fixture, row: &Row) {
    let does = |action: &str| row.actions.iter().any(|one| one == action);
    if does("SupersedeRuling") || does("Cite") {
        swarm.rules(&row.thing).await;
    }
    if does("RuleCrossMind") {
        let fork = question("eureka", "fork", &["eureka", "weksa"]);
        swarm.ask("eureka", fork).await.unwrap();
    }
    if does("Read") {
        swarm.rules("weksa").await;
    }
}
