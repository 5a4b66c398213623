//! `cambium why-mind`: why a mind has no turn, and what would change that.

use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::swarm::v1::{ExplainMindRequest, ExplainMindResponse, Why};

use crate::ask::ask;
use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::{clock, shell};

/// Say why a mind has no turn, until when, and what to type next
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium why-mind eureka")]
pub(crate) struct Args {
    #[arg(value_name = "MIND")]
    mind: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ExplainMindRequest {
        workspace_id: context.workspace(),
        instance: args.mind.clone(),
    };
    let reply = ask!(connection, timeline.explain_mind(request))?;
    let flags = context.globals.again();
    context.print(&reply, |reply| told(&args.mind, reply, &flags))?;
    Ok(Exit::Done)
}

fn told(mind: &str, reply: &ExplainMindResponse, flags: &str) -> String {
    let why = match reply.why() {
        Why::Unspecified => "it is first".to_owned(),
        why => word(why.as_str_name(), "WHY_"),
    };
    let mut text = format!("{mind}: {why}");
    if !reply.text.is_empty() {
        text += &format!("\n  {}", reply.text);
    }
    if reply.why() == Why::Behind && !reply.first.is_empty() {
        text += &format!("\n  first  {}; it is number {}", reply.first, reply.place);
    }
    if let Some(until) = &reply.until {
        text += &format!("\n  ends   {}", clock::away(until, SystemClock.now()));
    }
    if let Some(next) = next(reply.why(), &shell::word(mind)) {
        text += &format!("\n  next   {next}{flags}");
    }
    text
}

/// What an operator would type.
fn next(why: Why, mind: &str) -> Option<String> {
    Some(match why {
        Why::Brake => format!("cambium mind release {mind}"),
        Why::Share => format!("cambium mind share {mind} 1"),
        Why::Session => format!("cambium mind close {mind}"),
        Why::Rest => format!("cambium mind release {mind}   # ends the rest"),
        Why::Persona => format!("cambium persona show {mind}"),
        Why::Retry => format!("cambium turns {mind}"),
        Why::Idle => format!("cambium work submit TITLE --to {mind}"),
        Why::Live => format!("cambium turns {mind} --live"),
        Why::Dial => "cambium dial set --rate 2 --run 0.25".to_owned(),
        Why::Preempt => "cambium control".to_owned(),
        Why::Slots => "cambium turns --live".to_owned(),
        Why::Bucket => "cambium dial".to_owned(),
        Why::Wallet => "cambium wallet".to_owned(),
        Why::Behind => "cambium timeline --next 10".to_owned(),
        Why::Unspecified | Why::Retired | Why::Nobody => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(why: Why) -> ExplainMindResponse {
        ExplainMindResponse {
            why: why.into(),
            text: "others have used less".to_owned(),
            first: "weksa".to_owned(),
            place: 3,
            ..ExplainMindResponse::default()
        }
    }

    #[test]
    fn one_that_is_behind_is_told_who_is_first() {
        assert_eq!(
            told("eureka", &reply(Why::Behind), " --data d"),
            "eureka: behind\n  others have used less\n  first  weksa; it is number 3\n  next   cambium timeline --next 10 --data d"
        );
    }

    #[test]
    fn what_ends_by_the_operator_says_how() {
        let brake = told("eureka", &reply(Why::Brake), "");

        assert!(
            brake.ends_with("next   cambium mind release eureka"),
            "{brake}"
        );
        assert!(told("eureka", &reply(Why::Unspecified), "").starts_with("eureka: it is first"));
    }
}
