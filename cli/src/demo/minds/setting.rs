//! What the operator of the demo sets: the minds with their shares, then the wallet, then the dial. No turn starts before there is a dial,
//! so that all minds begin together.

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::swarm::v1::target::Target as Kind;
use cambium_proto::swarm::v1::{
    BodyTarget, HoldBrakeRequest, OpenMindRequest, Period, ReleaseBrakeRequest, SetDialRequest,
    SetShareRequest, SetWalletRequest, Target, Wakes,
};

use super::{BODY, MINDS, WORKSPACE};
use crate::ask::ask;
use crate::context::request_id;

/// Five dollars, in micro-dollars: more than the turns come to.
const LIMIT: i64 = 5_000_000;
/// The fastest that a dial may be, so that the turns wait for nothing.
const RATE_MICRO_USD_PER_H: i64 = 10_000_000_000;
const HEAT_PPM: i64 = 1_000_000;

pub(super) async fn open_minds(operator: &Connection) -> anyhow::Result<()> {
    for (mind, share_ppm) in MINDS {
        let open = OpenMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            display_name: mind.to_owned(),
            mission: "Take turns, so that somebody sees how they are given.".to_owned(),
            host: "demo".to_owned(),
            target: Some(Target {
                target: Some(Kind::Body(BodyTarget {
                    name: BODY.to_owned(),
                    organs: Vec::new(),
                })),
            }),
            wakes: Wakes::Always.into(),
            fresh: None,
        };
        ask!(operator, minds.open_mind(open)).with_context(|| format!("{mind} is not opened"))?;
        let share = SetShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            share_ppm,
        };
        ask!(operator, control.set_share(share))?;
        let release = ReleaseBrakeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
        };
        ask!(operator, control.release_brake(release))?;
    }
    Ok(())
}

/// From now on turns are given, one at a time: then shares alone decide, however unequal they are.
pub(super) async fn open_the_tap(operator: &Connection, cap: i64) -> anyhow::Result<()> {
    let wallet = SetWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        limit_micro_usd: Some(LIMIT.max(cap.saturating_mul(100))),
        period: Period::Month.into(),
    };
    ask!(operator, control.set_wallet(wallet))?;
    let dial = SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        heat_ppm: HEAT_PPM,
        base_rate_micro_usd_per_h: RATE_MICRO_USD_PER_H,
        base_run_micro_usd: cap,
        k: 1,
        ..SetDialRequest::default()
    };
    ask!(operator, control.set_dial(dial))?;
    Ok(())
}

/// No further turn starts.
pub(super) async fn hold_all(operator: &Connection) -> anyhow::Result<()> {
    let hold = HoldBrakeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: String::new(),
        reason: "the demo is over".to_owned(),
    };
    ask!(operator, control.hold_brake(hold))?;
    Ok(())
}
