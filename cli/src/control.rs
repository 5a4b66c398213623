//! `cambium control`: all that the operator has set, and what it should know.

use cambium_proto::swarm::v1::{GetControlResponse, Warning};

use crate::context::Context;
use crate::exit::Exit;
use crate::minds::{haste, share};
use crate::table::{moment, table};
use crate::{dial, loans, wallet};

/// Show all that is set for the minds: dial, wallet, shares, brakes, loans, sessions, warnings
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium control\n  cambium control --json")]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let reply = dial::get(&connection, &context.workspace()).await?;
    context.print(&reply, told)?;
    Ok(Exit::Done)
}

fn told(control: &GetControlResponse) -> String {
    let mut parts = vec![
        dial::told(control.dial.as_ref()),
        format!("wallet        {}", wallet::line(control.wallet.as_ref())),
        minds(control),
    ];
    if !control.loans.is_empty() {
        parts.push(loans::told(&control.loans));
    }
    let open = control.sessions.iter();
    let open: Vec<_> = open
        .filter(|session| session.close_time.is_none())
        .collect();
    if !open.is_empty() {
        let rows = open.into_iter().map(|session| {
            let others = if session.preempt { "wait" } else { "go on" };
            [
                session.instance.clone(),
                session.opened_by.clone(),
                moment(session.until.as_ref()),
                others.to_owned(),
            ]
        });
        parts.push(table(["in session", "by", "until", "the others"], rows));
    }
    if !control.warnings.is_empty() {
        let lines: Vec<String> = control.warnings.iter().map(line).collect();
        parts.push(lines.join("\n"));
    }
    parts.join("\n\n")
}

fn line(warning: &Warning) -> String {
    format!("warning: {}", warning.text)
}

/// One row a mind that has a share or a brake.
fn minds(control: &GetControlResponse) -> String {
    let mut names: Vec<&String> = control.brakes.iter().map(|one| &one.instance).collect();
    names.extend(control.shares.iter().map(|one| &one.instance));
    names.sort_unstable();
    names.dedup();
    let rows = names.into_iter().map(|name| {
        let mut shares = control.shares.iter();
        let own = shares.find(|one| one.instance == *name);
        let own = own.cloned().unwrap_or_default();
        let mut brakes = control.brakes.iter();
        let brake = match brakes.find(|one| one.instance == *name) {
            Some(brake) if brake.released => "released".to_owned(),
            Some(brake) if !brake.reason.is_empty() => format!("held: {}", brake.reason),
            _ => "held".to_owned(),
        };
        [
            name.clone(),
            share(own.share_ppm),
            share(own.effective_ppm),
            haste(own.haste_ppm),
            brake,
        ]
    });
    table(["name", "share", "after loans", "haste", "brake"], rows)
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::{Brake, Session, Share};

    use super::*;

    #[test]
    fn a_mind_with_a_brake_alone_is_a_row_too() {
        let control = GetControlResponse {
            shares: vec![Share {
                instance: "weksa".to_owned(),
                share_ppm: 1_000_000,
                effective_ppm: 1_000_000,
                haste_ppm: 1_000_000,
                ..Share::default()
            }],
            brakes: vec![Brake {
                instance: "eureka".to_owned(),
                reason: "we look first".to_owned(),
                ..Brake::default()
            }],
            sessions: vec![Session {
                instance: "weksa".to_owned(),
                opened_by: "operator:ada".to_owned(),
                ..Session::default()
            }],
            warnings: vec![Warning {
                text: "nothing can start".to_owned(),
                ..Warning::default()
            }],
            ..GetControlResponse::default()
        };

        let told = told(&control);

        assert!(
            told.starts_with("there is no dial: nothing is launched\n"),
            "{told}"
        );
        assert!(
            told.contains("eureka  -      -            -      held: we look first\n"),
            "{told}"
        );
        assert!(
            told.contains("weksa   1      1            -      held\n"),
            "{told}"
        );
        assert!(
            told.contains("weksa       operator:ada  -      go on"),
            "{told}"
        );
        assert!(told.ends_with("warning: nothing can start"), "{told}");
    }
}
