//! What holds and what speeds a mind: brake, share, haste.

use cambium_proto::swarm::v1::{
    Brake as Held, HoldBrakeRequest, ReleaseBrakeRequest, RemoveShareRequest, SetHasteRequest,
    SetShareRequest, Share, Warning,
};
use chrono::TimeDelta;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::table::moment;
use crate::{clock, millionths, minds, shell};

/// Hold a mind's brake: no turn of it starts, and its live one is told to stop
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind brake eureka --reason 'it spends too much'\n  cambium mind brake --all --reason 'we look first'"
)]
pub(super) struct Brake {
    #[arg(value_name = "MIND", required_unless_present = "all")]
    mind: Option<String>,
    /// Every mind's, at once
    #[arg(long, conflicts_with = "mind")]
    all: bool,
    #[arg(long, value_name = "TEXT", default_value = "held by hand")]
    reason: String,
}

pub(super) async fn brake(args: Brake, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = HoldBrakeRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind.unwrap_or_default(),
        reason: args.reason,
    };
    let reply = ask!(connection, control.hold_brake(request))?;
    context.print(&reply, |reply| {
        let lines: Vec<String> = reply.brakes.iter().map(told).collect();
        lines.join("\n")
    })?;
    Ok(Exit::Done)
}

fn told(brake: &Held) -> String {
    match brake.released {
        true => format!("{} may have turns", brake.instance),
        false => format!("{} is held: {}", brake.instance, brake.reason),
    }
}

/// Release a mind's brake: it may have turns, and a rest ends
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mind release eureka")]
pub(super) struct Release {
    #[arg(value_name = "MIND")]
    mind: String,
}

pub(super) async fn release(args: Release, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ReleaseBrakeRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind.clone(),
    };
    let reply = ask!(connection, control.release_brake(request))?;
    context.print(&reply, |reply| {
        told(&reply.brake.clone().unwrap_or_default())
    })?;
    hint(&format!(
        "next: cambium why-mind {}{}",
        shell::word(&args.mind),
        context.globals.again()
    ));
    Ok(Exit::Done)
}

/// A weight, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    None,
    Ppm(i64),
}

fn weight(text: &str) -> anyhow::Result<Weight> {
    match text {
        "none" => Ok(Weight::None),
        text => Ok(Weight::Ppm(millionths::number(text)?)),
    }
}

/// Set a mind's share, a weight among the others'; nobody else's changes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind share eureka 2.5\n  cambium mind share eureka none"
)]
pub(super) struct SetShare {
    #[arg(value_name = "MIND")]
    mind: String,
    /// As in 2 or 0.5; `none` takes it off the timeline
    #[arg(value_name = "SHARE", value_parser = weight)]
    share: Weight,
}

pub(super) async fn share(args: SetShare, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let Weight::Ppm(share_ppm) = args.share else {
        let request = RemoveShareRequest {
            workspace_id: context.workspace(),
            request_id: request_id(),
            instance: args.mind.clone(),
        };
        let reply = ask!(connection, control.remove_share(request))?;
        context.print(&reply, |_| format!("{} has no share", args.mind))?;
        ended(&reply.ended_loan_ids);
        return Ok(Exit::Done);
    };
    let request = SetShareRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        share_ppm,
    };
    let reply = ask!(connection, control.set_share(request))?;
    context.print(&reply, |reply| {
        told_share(&reply.share.clone().unwrap_or_default())
    })?;
    ended(&reply.ended_loan_ids);
    warn(&reply.warnings);
    Ok(Exit::Done)
}

/// Says that loans gave way.
fn ended(loans: &[String]) {
    match loans.len() {
        0 => {}
        1 => hint("a loan gave way to it"),
        more => hint(&format!("{more} loans gave way to it")),
    }
}

/// What an operator should know of what was just set.
pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        hint(&format!("warning: {}", warning.text));
    }
}

fn told_share(share: &Share) -> String {
    let own = minds::share(share.share_ppm);
    let mut text = format!("{} has a share of {own}", share.instance);
    if share.effective_ppm != share.share_ppm {
        text += &format!(", {} after loans", minds::share(share.effective_ppm));
    }
    match minds::haste(share.haste_ppm).as_str() {
        "-" => text,
        haste => format!(
            "{text}, {haste} until {}",
            moment(share.haste_until.as_ref())
        ),
    }
}

/// A factor, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Off,
    Ppm(i64),
}

fn factor(text: &str) -> anyhow::Result<Factor> {
    match text {
        "off" => Ok(Factor::Off),
        text => Ok(Factor::Ppm(millionths::number(text)?)),
    }
}

/// Speed a mind up for a time, as if its share were larger
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind haste eureka 2 --for 2h\n  cambium mind haste eureka off"
)]
pub(super) struct SetHaste {
    #[arg(value_name = "MIND")]
    mind: String,
    /// From 1 to 10, or `off`
    #[arg(value_name = "FACTOR", value_parser = factor)]
    factor: Factor,
    /// How long, as in 90s, 10m, 24h or 7d; at most 30d
    #[arg(long = "for", value_name = "TIME", value_parser = clock::span)]
    span: Option<TimeDelta>,
}

pub(super) async fn haste(args: SetHaste, context: &Context) -> anyhow::Result<Exit> {
    let (haste_ppm, until) = match (args.factor, args.span) {
        (Factor::Off, _) => (None, None),
        (Factor::Ppm(ppm), Some(span)) => (Some(ppm), Some(clock::ahead(span)?)),
        (Factor::Ppm(_), None) => {
            let say = "say for how long with --for, as in --for 2h";
            return Err(Refusal::Usage(say.to_owned()).into());
        }
    };
    let connection = context.connection().await?;
    let request = SetHasteRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        haste_ppm,
        until,
    };
    let reply = ask!(connection, control.set_haste(request))?;
    context.print(&reply, |reply| {
        told_share(&reply.share.clone().unwrap_or_default())
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_may_be_none_and_a_haste_off() {
        assert_eq!(weight("none").unwrap(), Weight::None);
        assert_eq!(weight("2.5").unwrap(), Weight::Ppm(2_500_000));
        assert_eq!(factor("off").unwrap(), Factor::Off);
        assert_eq!(factor("1.5").unwrap(), Factor::Ppm(1_500_000));
        for bad in ["", "all", "-2", "2x"] {
            assert!(weight(bad).is_err() && factor(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_share_is_told_with_what_changes_it() {
        let share = Share {
            instance: "eureka".to_owned(),
            share_ppm: 2_000_000,
            effective_ppm: 1_500_000,
            haste_ppm: 2_000_000,
            haste_until: Some(prost_types::Timestamp::default()),
            ..Share::default()
        };

        assert_eq!(
            told_share(&share),
            "eureka has a share of 2, 1.5 after loans, ×2 until 1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn a_brake_says_why() {
        let held = Held {
            instance: "eureka".to_owned(),
            reason: "we look first".to_owned(),
            ..Held::default()
        };

        assert_eq!(told(&held), "eureka is held: we look first");
        let released = Held {
            released: true,
            ..held
        };
        assert_eq!(told(&released), "eureka may have turns");
    }
}
