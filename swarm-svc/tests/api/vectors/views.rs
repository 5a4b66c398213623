//! What a swarm shows of itself, as the vectors ask for it.

use cambium_proto::swarm::v1 as wire;
use chrono::DateTime;
use prost_types::Timestamp;
use serde_json::{Map, Value, json};

use super::game::Game;
use crate::fixture::{WORKSPACE, first_instant};

fn us(at: &Timestamp) -> i64 {
    let at = DateTime::from_timestamp(at.seconds, u32::try_from(at.nanos).unwrap()).unwrap();
    (at - first_instant()).num_microseconds().unwrap()
}

impl Game<'_> {
    pub(super) async fn preview(&self, n: i64) -> Value {
        let request = wire::PreviewTurnsRequest {
            workspace_id: WORKSPACE.to_owned(),
            n: i32::try_from(n).unwrap(),
        };
        let reply = self.swarm.timeline().preview_turns(request).await.unwrap();
        let turns = reply.into_inner().turns.into_iter();
        json!({"order": turns.map(|turn| turn.instance).collect::<Vec<_>>()})
    }

    pub(super) async fn when_dry(&self) -> Value {
        let request = wire::ForecastWalletRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let reply = self.swarm.timeline().forecast_wallet(request).await;
        let dry = reply.unwrap().into_inner();
        json!({
            "remaining": dry.remaining_micro_usd, "burn_per_h": dry.burn_micro_usd_per_h,
            "expected_us": dry.expected_dry.as_ref().map(us), "earliest_us": dry.earliest_dry.as_ref().map(us),
        })
    }

    pub(super) async fn state(&self) -> Value {
        let request = wire::GetTimelineRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let reply = self.swarm.timeline().get_timeline(request).await;
        let timeline = reply.unwrap().into_inner();
        let mut minds = timeline.minds;
        minds.sort_by(|a, b| a.instance.cmp(&b.instance));
        let of = |value: fn(&wire::TimelineMind) -> Option<Value>| {
            let pairs = minds
                .iter()
                .filter_map(|mind| Some((mind.instance.clone(), value(mind)?)));
            pairs.collect::<Map<_, _>>()
        };
        let named = |which: fn(&wire::TimelineMind) -> bool| {
            let those = minds.iter().filter(|mind| which(mind));
            those.map(|mind| mind.instance.clone()).collect::<Vec<_>>()
        };
        let wallet = timeline.wallet.unwrap_or_default();
        json!({
            "bucket": timeline.bucket_micro_usd, "reserved": timeline.reserved_micro_usd,
            "min_vtime": timeline.min_vtime,
            "vtime": of(|mind| Some(json!(mind.vtime))),
            "eff": of(|mind| (mind.effective_ppm > 0).then(|| json!(mind.effective_ppm))),
            "members": named(|mind| mind.member),
            "live": self.in_order_of_launch(&named(|mind| !mind.live_turn_id.is_empty())),
            "infeasible": named(|mind| mind.infeasible),
            "spent": wallet.spent_micro_usd, "held": wallet.held_micro_usd,
        })
    }

    fn in_order_of_launch(&self, names: &[String]) -> Vec<String> {
        let mut names = names.to_vec();
        names.sort_by_key(|name| self.newest.get(name).map(|turn| turn.turn_id.clone()));
        names
    }
}
