//! `cambium rules`: what counts as an anomaly, and what then happens. Rules are data; nothing of them is decided here.

use cambium_client::Connection;
use cambium_proto::immune::v1::{
    DryRunRuleRequest, DryRunRuleResponse, ListRulesRequest, ListRulesResponse, PutRuleRequest,
    Rule, dry_run_rule_request::Which,
};
use clap::Subcommand;
use serde_json::Value;

use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::json::{self, word};
use crate::table::table;
use crate::{clock, file, shell};

/// List the rules, or put, try, disable and enable one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium rules\n  cambium rules --json")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List them, built-in ones among them
    #[command(after_help = "Example:\n  cambium rules list")]
    List,
    /// Make a rule, or replace the one of its id
    ///
    /// JSON as the contract has it; the response may be a plain word, the window a time as in 10m, and a rule that does not
    /// say so is enabled.
    #[command(
        after_help = "Examples:\n  cambium rules put rule.json\n  cambium rules put '{\"ruleId\":\"slow-failures\",\"signalType\":\"task.failed\",\"severity\":0.4,\"response\":\"alert\",\"window\":\"1h\",\"minCount\":5}'"
    )]
    Put {
        #[arg(value_name = "FILE|JSON")]
        rule: String,
    },
    /// Keep a rule, and let it fire no more
    #[command(after_help = "Example:\n  cambium rules disable failure-burst")]
    Disable {
        #[arg(value_name = "ID")]
        rule_id: String,
    },
    /// Let a rule fire again
    #[command(after_help = "Example:\n  cambium rules enable failure-burst")]
    Enable {
        #[arg(value_name = "ID")]
        rule_id: String,
    },
    /// Say how often a rule would have fired; changes nothing
    #[command(
        after_help = "Examples:\n  cambium rules dry-run failure-burst --hours 24\n  cambium rules dry-run rule.json"
    )]
    DryRun {
        /// A stored rule, or one in a file or as JSON
        #[arg(value_name = "ID|FILE|JSON")]
        rule: String,
        /// The last so many hours, up to 720
        #[arg(long, value_name = "N", default_value_t = 24)]
        hours: i32,
    },
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    match args.what.unwrap_or(What::List) {
        What::List => {
            let reply = list(&connection, context).await?;
            context.print(&reply, |reply| told(&reply.rules))?;
        }
        What::Put { rule } => {
            let rule = parse(&rule)?;
            let rule = match rule.version {
                0 => replacing(rule, &list(&connection, context).await?.rules),
                _ => rule,
            };
            put(rule, &connection, context).await?;
        }
        What::Disable { rule_id } => switch(&rule_id, false, &connection, context).await?,
        What::Enable { rule_id } => switch(&rule_id, true, &connection, context).await?,
        What::DryRun { rule, hours } => dry_run(&rule, hours, &connection, context).await?,
    }
    Ok(Exit::Done)
}

async fn list(connection: &Connection, context: &Context) -> anyhow::Result<ListRulesResponse> {
    let request = ListRulesRequest {
        workspace_id: context.workspace(),
    };
    Ok(ask!(connection, rules.list_rules(request))?)
}

async fn put(rule: Rule, connection: &Connection, context: &Context) -> anyhow::Result<()> {
    let request = PutRuleRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        rule: Some(rule),
    };
    let reply = ask!(connection, rules.put_rule(request))?;
    let rule = reply.rule.clone().unwrap_or_default();
    context.print(&reply, |_| told(std::slice::from_ref(&rule)))?;
    if rule.enabled {
        hint(&format!(
            "try it on what has been: cambium rules dry-run {}{}",
            rule.rule_id,
            context.globals.again()
        ));
    }
    Ok(())
}

async fn switch(
    rule_id: &str,
    enabled: bool,
    connection: &Connection,
    context: &Context,
) -> anyhow::Result<()> {
    let rules = list(connection, context).await?.rules;
    let rule = rules.into_iter().find(|rule| rule.rule_id == rule_id);
    let rule = rule.ok_or_else(|| {
        Refusal::Unknown(format!("there is no rule `{rule_id}`"), "cambium rules")
    })?;
    put(Rule { enabled, ..rule }, connection, context).await
}

async fn dry_run(
    rule: &str,
    hours: i32,
    connection: &Connection,
    context: &Context,
) -> anyhow::Result<()> {
    let which = match is_document(rule) {
        true => Which::Rule(parse(rule)?),
        false => Which::RuleId(rule.to_owned()),
    };
    let request = DryRunRuleRequest {
        workspace_id: context.workspace(),
        hours,
        which: Some(which),
    };
    let reply = ask!(connection, rules.dry_run_rule(request))?;
    context.print(&reply, told_dry)
}

/// Whether this is a rule itself, or a file that holds one, rather than a rule's id.
fn is_document(text: &str) -> bool {
    !text
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        || text == "-"
}

/// A rule as people write it.
fn parse(text: &str) -> anyhow::Result<Rule> {
    let bytes = if text.trim_start().starts_with('{') {
        text.as_bytes().to_vec()
    } else {
        file::read(text.trim_start_matches('@').as_ref())?
    };
    let wrong = |problem: String| Refusal::Usage(format!("this is no rule: {problem}"));
    let mut document: Value =
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let fields = document
        .as_object_mut()
        .ok_or_else(|| wrong("it is no JSON object".to_owned()))?;
    fields.entry("enabled").or_insert(Value::Bool(true));
    if let Some(Value::String(response)) = fields.get_mut("response")
        && !response.contains('_')
    {
        *response = format!("RULE_RESPONSE_{}", response.to_uppercase());
    }
    if let Some(Value::String(window)) = fields.get_mut("window") {
        let span = clock::span(window).map_err(|error| wrong(format!("window: {error}")))?;
        *window = format!("{}s", span.num_seconds());
    }
    Ok(json::read(document).map_err(|error| wrong(format!("{error:#}")))?)
}

/// The rule as the next version of the one of its id, if there is one.
fn replacing(rule: Rule, stored: &[Rule]) -> Rule {
    let before = stored.iter().find(|one| one.rule_id == rule.rule_id);
    Rule {
        version: before.map_or(0, |one| one.version),
        ..rule
    }
}

fn told(rules: &[Rule]) -> String {
    let head = [
        "rule", "signal", "at least", "fires on", "severity", "response", "state",
    ];
    let rows = rules.iter().map(|rule| {
        [
            rule.rule_id.clone(),
            rule.signal_type.clone(),
            bar(rule.threshold),
            fires_on(rule),
            bar(rule.severity),
            word(rule.response().as_str_name(), "RULE_RESPONSE_"),
            state(rule),
        ]
    });
    table(head, rows)
}

fn fires_on(rule: &Rule) -> String {
    if rule.of_last > 0 {
        return format!("{} of the last {}", rule.min_count, rule.of_last);
    }
    let window = rule.window.map_or(0, |window| window.seconds);
    match (rule.min_count, window) {
        (0 | 1, _) => "each".to_owned(),
        (count, window) => format!("{count} in {}", clock::length(window)),
    }
}

fn state(rule: &Rule) -> String {
    let enabled = if rule.enabled { "enabled" } else { "disabled" };
    let marks = [(rule.dry_run, "dry run"), (rule.built_in, "built in")];
    let marks = marks.iter().filter(|(is_so, _)| *is_so);
    marks.fold(enabled.to_owned(), |text, (_, mark)| {
        format!("{text}, {mark}")
    })
}

fn told_dry(reply: &DryRunRuleResponse) -> String {
    let agents = reply.agents.iter().map(|agent| {
        let name = shell::word(&agent.agent_name);
        format!("\n  {name}  {}", agent.firings)
    });
    reply.summary.clone() + &agents.collect::<String>()
}

#[cfg(test)]
mod tests {
    use cambium_proto::immune::v1::RuleResponse;

    use super::*;

    const RULE: &str = r#"{"ruleId": "slow", "signalType": "task.failed", "severity": 0.4,
        "response": "alert", "window": "1h", "minCount": 5}"#;

    #[test]
    fn a_rule_may_be_written_in_plain_words() {
        let rule = parse(RULE).unwrap();

        assert_eq!(
            (rule.rule_id.as_str(), rule.response()),
            ("slow", RuleResponse::Alert)
        );
        assert_eq!(rule.window.unwrap().seconds, 3_600);
        assert!(rule.enabled);
    }

    #[test]
    fn a_rule_may_be_written_as_the_contract_has_it() {
        let document =
            r#"{"ruleId":"a","response":"RULE_RESPONSE_LOG","window":"300s","enabled":false}"#;

        let rule = parse(document).unwrap();

        assert_eq!((rule.response(), rule.enabled), (RuleResponse::Log, false));
    }

    #[test]
    fn what_is_no_rule_is_refused_here() {
        for bad in [
            "{",
            r#"{"ruleIdd": "a"}"#,
            r#"{"window": "soon"}"#,
            r#"{"response": "shout"}"#,
        ] {
            let error = parse(bad).unwrap_err().to_string();
            assert!(error.starts_with("this is no rule"), "{error}");
        }
    }

    #[test]
    fn a_rule_replaces_the_version_that_is_there() {
        let stored = Rule {
            rule_id: "slow".to_owned(),
            version: 3,
            ..Rule::default()
        };

        let rule = replacing(parse(RULE).unwrap(), &[stored]);

        assert_eq!((rule.version, rule.min_count), (3, 5));
    }

    #[test]
    fn an_id_is_told_from_a_file_and_from_json() {
        assert!(!is_document("failure-burst"));
        assert!(is_document("rule.json") && is_document("{}") && is_document("-"));
    }

    #[test]
    fn when_a_rule_fires_is_said_in_words() {
        let rule = parse(RULE).unwrap();
        let of_last = Rule {
            min_count: 10,
            of_last: 20,
            ..Rule::default()
        };

        assert_eq!(fires_on(&rule), "5 in 1 h");
        assert_eq!(fires_on(&of_last), "10 of the last 20");
        assert_eq!(
            state(&Rule {
                built_in: true,
                ..rule
            }),
            "enabled, built in"
        );
    }
}
