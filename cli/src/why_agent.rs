//! `cambium why-agent`: which facts brought an agent's scores where they are.

use cambium_proto::immune::v1::{
    Badge, ExplainStandingRequest, ExplainStandingResponse, LedgerEntry, ScoreKind, Standing,
};
use clap::ValueEnum;
use uuid::Uuid;

use crate::ask::ask;
use crate::bar::{bar, step};
use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::names::Names;
use crate::table::{moment, table};
use crate::{shell, standing};

/// Say which events moved an agent's scores, newest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium why-agent ada\n  cambium why-agent ada --score generosity --page-size 20"
)]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
    /// Only what moved this score
    #[arg(long, value_enum)]
    score: Option<Score>,
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Score {
    Trust,
    Generosity,
    Health,
}

impl From<Score> for ScoreKind {
    fn from(score: Score) -> Self {
        match score {
            Score::Trust => Self::Trust,
            Score::Generosity => Self::Generosity,
            Score::Health => Self::Health,
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let is_id = Uuid::try_parse(&args.agent).is_ok();
    let named = |yes: bool| {
        if yes {
            args.agent.clone()
        } else {
            String::new()
        }
    };
    let request = ExplainStandingRequest {
        workspace_id: context.workspace(),
        agent_id: named(is_id),
        name: named(!is_id),
        score: args
            .score
            .map_or(ScoreKind::Unspecified, ScoreKind::from)
            .into(),
        page_size: args.page_size,
        page_token: args.page_token.clone(),
    };
    let reply = ask!(connection, standings.explain_standing(request))?;
    let names = if context.globals.json {
        Names::default()
    } else {
        let others = reply
            .entries
            .iter()
            .map(|entry| entry.counterpart_agent_id.as_str());
        Names::of(&connection, &context.workspace(), others).await
    };
    context.print(&reply, |reply| {
        let flags = context.globals.again();
        standing::painted(&told(reply, &args, &names, &flags))
    })?;
    Ok(Exit::Done)
}

fn told(reply: &ExplainStandingResponse, args: &Args, names: &Names, flags: &str) -> String {
    let mut lines: Vec<String> = reply
        .standing
        .iter()
        .map(|it| headline(it, &args.agent))
        .collect();
    if reply.entries.is_empty() {
        lines.push("  nothing has moved it yet".to_owned());
    } else {
        lines.push(ledger(&reply.entries, names));
    }
    let next = next(reply, args);
    lines.extend(next.iter().map(|command| format!("next: {command}{flags}")));
    lines.join("\n")
}

/// Facts of an agent may come before its name: then it is called as it was asked for.
fn headline(standing: &Standing, asked: &str) -> String {
    let badges = standing::badges(standing);
    let name = Some(standing.name.as_str()).filter(|name| !name.is_empty());
    format!(
        "{}: trust {}, generosity {}, health {}{}",
        name.unwrap_or(asked),
        bar(standing.trust),
        bar(standing.generosity),
        standing::health(standing),
        if badges.is_empty() {
            badges
        } else {
            format!("; {badges}")
        }
    )
}

fn ledger(entries: &[LedgerEntry], names: &Names) -> String {
    let head = [
        "when", "score", "event", "delta", "after", "with", "reason", "run", "cause",
    ];
    let or_dash = |text: &str| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.to_owned()
        }
    };
    let rows = entries.iter().map(|entry| {
        [
            moment(entry.record_time.as_ref()),
            word(entry.score().as_str_name(), "SCORE_KIND_"),
            entry.event.replace('_', " "),
            step(entry.delta),
            bar(entry.after),
            or_dash(names.name(&entry.counterpart_agent_id)),
            or_dash(&entry.reason),
            or_dash(&entry.workflow_run_id),
            entry.cause_id.clone(),
        ]
    });
    table(head, rows)
}

/// The commands that help from here, the best one first.
fn next(reply: &ExplainStandingResponse, args: &Args) -> Vec<String> {
    let agent = shell::word(&args.agent);
    let badges: Vec<Badge> = reply.standing.iter().flat_map(Standing::badges).collect();
    let mut next = Vec::new();
    if badges.contains(&Badge::Quarantined) {
        next.push(format!("cambium release {agent} --reason TEXT"));
    }
    let with_run = reply
        .entries
        .iter()
        .find(|entry| !entry.workflow_run_id.is_empty());
    if let Some(entry) = with_run {
        next.push(format!("cambium run-show {}", entry.workflow_run_id));
    }
    if !reply.next_page_token.is_empty() {
        let token = shell::word(&reply.next_page_token);
        let size = args.page_size;
        let score = args.score.and_then(|score| score.to_possible_value());
        let score = score.map(|score| format!(" --score {}", score.get_name()));
        next.push(format!(
            "cambium why-agent {agent}{} --page-size {size} --page-token {token}",
            score.unwrap_or_default()
        ));
    }
    if next.is_empty() {
        next.push(format!("cambium agent-show {agent}"));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Args {
        Args {
            agent: "ada".to_owned(),
            score: Some(Score::Generosity),
            page_size: 2,
            page_token: String::new(),
        }
    }

    fn reply() -> ExplainStandingResponse {
        let entry = LedgerEntry {
            seq: 1,
            score: ScoreKind::Generosity.into(),
            event: "contribution".to_owned(),
            cause_id: "s1".to_owned(),
            before: 0.5,
            delta: 0.03,
            after: 0.53,
            counterpart_agent_id: "a2".to_owned(),
            workflow_run_id: "r1".to_owned(),
            ..LedgerEntry::default()
        };
        ExplainStandingResponse {
            standing: Some(Standing {
                name: "ada".to_owned(),
                trust: 0.5,
                generosity: 0.53,
                health: 1.0,
                ..Standing::default()
            }),
            entries: vec![entry],
            next_page_token: String::new(),
        }
    }

    #[test]
    fn each_event_is_a_row_and_the_run_is_what_to_look_at_next() {
        let told = told(&reply(), &args(), &Names::default(), " --data d");

        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        assert!(
            lines[0].starts_with("ada: trust █████░░░░░ 0.50, generosity"),
            "{told}"
        );
        assert!(
            lines[2].contains("contribution  +0.03  █████░░░░░ 0.53  a2"),
            "{told}"
        );
        assert_eq!(lines[3], "next: cambium run-show r1 --data d");
    }

    #[test]
    fn further_pages_and_a_way_out_of_quarantine_are_told() {
        let mut reply = reply();
        reply.next_page_token = "p2".to_owned();
        reply.standing.as_mut().unwrap().badges = vec![Badge::Quarantined.into()];

        let next = next(&reply, &args());

        let page = "cambium why-agent ada --score generosity --page-size 2 --page-token p2";
        assert_eq!(
            next,
            [
                "cambium release ada --reason TEXT",
                "cambium run-show r1",
                page
            ]
        );
    }

    #[test]
    fn an_agent_that_nothing_has_moved_says_so() {
        let reply = ExplainStandingResponse {
            entries: Vec::new(),
            ..reply()
        };

        let told = told(&reply, &args(), &Names::default(), "");

        assert!(told.contains("nothing has moved it yet"), "{told}");
        assert!(told.ends_with("next: cambium agent-show ada"), "{told}");
    }
}
