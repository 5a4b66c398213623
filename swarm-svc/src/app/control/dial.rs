//! The dial: the bucket is refilled at the old pace, then cut to the new burst. The first dial makes its row, at 0
//! (design: swarm, section 3).

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::bucket::Bucket;
use cambium_swarm::dial::Dial;
use cambium_swarm::warning;
use serde_json::{Value, json};

use super::warn;
use crate::app::timeline::held;
use crate::app::{About, App, Change};
use crate::convert::control::{self as wired, OfSwarm};
use crate::error::Error;
use crate::store::setting::Set;
use crate::store::{bucket, setting};

impl App {
    /// The reply says how many turns fit. Live turns stay, however few there may now be: none starts until there is room.
    pub(crate) async fn set_dial(
        &self,
        call: &Call,
        wish: &OfSwarm<Dial>,
    ) -> Result<wire::SetDialResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::SetDial, None).await? {
            return Ok(reply);
        }
        change.make_bucket().await?;
        let workspace = &wish.workspace;
        let held = held::hold(change.conn(), workspace, None).await?;
        change.news = held.news();
        let now = held.now;
        let cut = held.bucket.redialled(held.dial.as_ref(), &wish.value, now);
        bucket::put(change.conn(), workspace, &cut).await?;
        let levels = (held.bucket.level, cut.level);
        bucket::log(change.conn(), workspace, bucket::Kind::Dial, levels, None).await?;
        let set = Set {
            value: wish.value,
            at: now,
            by: change.author(),
        };
        setting::put_dial(change.conn(), workspace, &set).await?;

        let dial = &set.value;
        let mut warnings = warn::of_shares(change.conn(), workspace, Some(dial), now).await?;
        let limit = setting::limit(change.conn(), workspace).await?;
        warnings.extend(warning::of_burst(dial));
        warnings.extend(warning::of_wallet(Some(dial), &limit));
        let reply = wire::SetDialResponse {
            dial: Some(wired::dial_to_wire(&set)),
            warnings: wired::warnings_to_wire(warnings),
        };
        change.finish(reply, About::swarm(body(dial))).await
    }
}

impl Change<'_> {
    /// Before the first dial nothing was earned and nothing is owed. A row that is missing beside a dial was lost, which is another
    /// matter.
    async fn make_bucket(&mut self) -> Result<(), Error> {
        let workspace = self.workspace.clone();
        if setting::has_dial(self.conn(), &workspace).await? {
            return Ok(());
        }
        let now = self.now().await?;
        bucket::make(self.conn(), &workspace, &Bucket::empty(now)).await?;
        Ok(())
    }
}

fn body(dial: &Dial) -> Value {
    let setting = dial.setting();
    json!({
        "heat_ppm": setting.heat_ppm,
        "base_rate_micro_usd_per_h": setting.base_rate_micro_usd_per_h,
        "base_run_micro_usd": setting.base_run_micro_usd,
        "k": setting.k,
        "reserve": setting.reserve.as_str(),
        "burst_micro_usd": dial.burst().as_micros(),
        "floor_micro_usd": dial.floor().as_micros(),
        "turn_max_s": dial.turn_max().num_seconds(),
    })
}
