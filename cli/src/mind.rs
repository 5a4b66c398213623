//! `cambium mind`: opens a mind and steers it, as its operator.

mod life;
mod open;
mod operate;
mod steer;
mod transfer;

use cambium_proto::swarm::v1::Mind;
use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::minds::{share, stands, wakes};
use crate::table::moment;
use crate::{shell, target};

pub(crate) use open::Waking;
pub(crate) use steer::warn;

/// Open a mind and steer it: share, haste, brake, what carries its turns
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind open eureka --target body:desk --share 2 --release\n  cambium mind show eureka"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Open(open::Open),
    Propose(life::Propose),
    Decline(life::Decline),
    Show(life::Show),
    Target(life::SetTarget),
    Release(steer::Release),
    Brake(steer::Brake),
    Share(steer::SetShare),
    Haste(steer::SetHaste),
    Steward(life::Steward),
    Operate(operate::Operate),
    Close(operate::Close),
    Retire(life::Retire),
    Export(transfer::Export),
    Receive(transfer::Receive),
    Moved(transfer::Moved),
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Open(args) => open::open(args, context).await,
        What::Propose(args) => life::propose(args, context).await,
        What::Decline(args) => life::decline(args, context).await,
        What::Show(args) => life::show(args, context).await,
        What::Target(args) => life::set_target(args, context).await,
        What::Release(args) => steer::release(args, context).await,
        What::Brake(args) => steer::brake(args, context).await,
        What::Share(args) => steer::share(args, context).await,
        What::Haste(args) => steer::haste(args, context).await,
        What::Steward(args) => life::steward(args, context).await,
        What::Operate(args) => Box::pin(operate::operate(args, context)).await,
        What::Close(args) => operate::close(args, context).await,
        What::Retire(args) => life::retire(args, context).await,
        What::Export(args) => transfer::export(args, context).await,
        What::Receive(args) => transfer::receive(args, context).await,
        What::Moved(args) => transfer::moved(args, context).await,
    }
}

/// A mind in full. `flags` belong behind what is said to type next.
pub(crate) fn told(mind: &Mind, flags: &str) -> String {
    let mut lines = vec![
        ("state", stands(mind)),
        ("title", mind.display_name.clone()),
        ("mission", mind.mission.clone()),
        ("share", share(mind.share_ppm)),
        ("target", target::shown(mind.target.as_ref())),
        ("wakes", wakes(mind)),
    ];
    let moments = [
        ("wakes at", mind.wake_at.as_ref()),
        ("rests until", mind.rest_until.as_ref()),
        ("asked to go", mind.retirement_asked_at.as_ref()),
        ("opened", mind.open_time.as_ref()),
        ("closed", mind.close_time.as_ref()),
    ];
    let known = moments.into_iter().filter(|(_, at)| at.is_some());
    lines.extend(known.map(|(name, at)| (name, moment(at))));
    let texts = [
        ("host", &mind.host),
        ("proposed by", &mind.proposed_by),
        ("moved to", &mind.moved_to),
        ("reason", &mind.reason),
    ];
    let said = texts.into_iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(name, text)| (name, text.clone())));
    if mind.close_time.is_none() {
        let name = shell::word(&mind.instance);
        lines.push(("next", format!("cambium why-mind {name}{flags}")));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("\n  {name:<12} {value}"));
    mind.instance.clone() + &lines.collect::<String>()
}

/// A mind that was changed, in a line.
pub(crate) fn line(mind: Option<&Mind>) -> String {
    let mind = mind.cloned().unwrap_or_default();
    let mut text = format!("{} is {}", mind.instance, stands(&mind));
    let moments = [
        ("rests until", mind.rest_until.as_ref()),
        ("wakes at", mind.wake_at.as_ref()),
    ];
    for (name, at) in moments.into_iter().filter(|(_, at)| at.is_some()) {
        text += &format!(", {name} {}", moment(at));
    }
    text
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::MindState;

    use super::*;

    fn mind(state: MindState) -> Mind {
        Mind {
            instance: "eureka".to_owned(),
            display_name: "Eureka".to_owned(),
            state: state.into(),
            share_ppm: 500_000,
            ..Mind::default()
        }
    }

    #[test]
    fn a_mind_is_told_without_what_it_has_not() {
        let told = told(&mind(MindState::Asleep), " --data d");

        assert!(
            told.starts_with("eureka\n  state        asleep\n"),
            "{told}"
        );
        assert!(told.contains("\n  share        0.5\n"), "{told}");
        assert!(
            !told.contains("rests until") && !told.contains("moved to"),
            "{told}"
        );
        assert!(told.ends_with("cambium why-mind eureka --data d"), "{told}");
    }

    #[test]
    fn of_a_mind_that_has_gone_nobody_asks_why() {
        let gone = Mind {
            close_time: Some(prost_types::Timestamp::default()),
            reason: "its work is done".to_owned(),
            ..mind(MindState::Retired)
        };

        let told = told(&gone, "");

        assert!(told.ends_with("reason       its work is done"), "{told}");
        assert_eq!(line(Some(&gone)), "eureka is retired");
    }
}
