//! `cambium agent-show`: one agent, and how it stands.

use cambium_proto::genesis::v1::GetAgentResponse;
use cambium_proto::immune::v1::Standing;
use serde_json::Value;

use crate::agents::origin;
use crate::bar::bar;
use crate::context::Context;
use crate::exit::Exit;
use crate::json::{self, word};
use crate::table::moment;
use crate::{shell, standing};

/// Show one agent, and how it stands
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium agent-show ada")]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let reply = context.whole_agent(&connection, &args.agent).await?;
    let agent = reply.agent.clone().unwrap_or_default();
    let ids = [agent.agent_id.clone()];
    let standings = standing::of(&connection, &context.workspace(), &ids).await;
    let standing = standings.unwrap_or_default().remove(&agent.agent_id);

    let mut document = json::document(&reply)?;
    if let Some(standing) = &standing {
        document["agent"]["standing"] = json::document(standing)?;
    }
    context.print_value(&document, |_| {
        let flags = context.globals.again();
        standing::painted(&told(&reply, standing.as_ref(), &flags))
    })?;
    Ok(Exit::Done)
}

/// `flags` belong behind what is said to type next.
fn told(reply: &GetAgentResponse, standing: Option<&Standing>, flags: &str) -> String {
    let agent = reply.agent.clone().unwrap_or_default();
    let mut lines = vec![
        ("agent", agent.agent_id.clone()),
        ("state", word(agent.state().as_str_name(), "AGENT_STATE_")),
        ("capabilities", agent.capabilities.join(", ")),
        ("enrolled", moment(agent.enroll_time.as_ref())),
    ];
    if let Some(origin) = origin(&agent) {
        lines.push(("template", origin));
        let generation = agent.generation.to_string();
        lines.push(("generation", generation));
    }
    if !agent.parent_agent_id.is_empty() {
        lines.push(("spawned by", agent.parent_agent_id.clone()));
    }
    let config = reply.config.clone().unwrap_or_default();
    let inherited = inherited(&config.inherited_learnings);
    lines.extend(inherited.into_iter().map(|pattern| ("inherited", pattern)));
    if let Some(standing) = standing {
        lines.extend(stands(standing));
        let name = shell::word(&agent.name);
        lines.push(("next", format!("cambium why-agent {name}{flags}")));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("\n  {name:<13} {value}"));
    agent.name.clone() + &lines.collect::<String>()
}

/// The patterns that the agent was told when it was made.
fn inherited(learnings: &[u8]) -> Vec<String> {
    let learnings: Vec<Value> = serde_json::from_slice(learnings).unwrap_or_default();
    let patterns = learnings.iter().filter_map(|one| one["pattern"].as_str());
    patterns
        .map(|pattern| pattern.escape_debug().to_string())
        .collect()
}

fn stands(standing: &Standing) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("trust", bar(standing.trust)),
        ("generosity", bar(standing.generosity)),
        ("health", standing::health(standing)),
    ];
    let badges = standing::badges(standing);
    if !badges.is_empty() {
        lines.push(("badges", badges));
    }
    if let Some(until) = &standing.quarantine_end_time {
        let reason = &standing.quarantine_reason;
        let until = moment(Some(until));
        lines.push(("quarantine", format!("until {until}: {reason}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use cambium_proto::genesis::v1::{Agent, AgentConfig};

    use super::*;

    fn reply() -> GetAgentResponse {
        GetAgentResponse {
            agent: Some(Agent {
                name: "ada".to_owned(),
                ..Agent::default()
            }),
            config: None,
        }
    }

    #[test]
    fn an_agent_is_told_with_how_it_stands_and_where_to_ask_why() {
        let standing = Standing {
            trust: 0.5,
            generosity: 0.2,
            health: 1.0,
            quarantine_end_time: Some(prost_types::Timestamp::default()),
            quarantine_reason: "spam".to_owned(),
            ..Standing::default()
        };

        let told = told(&reply(), Some(&standing), " --data d");

        assert!(told.contains("\n  generosity    ██░░░░░░░░ 0.20"), "{told}");
        assert!(
            told.contains("quarantine    until 1970-01-01T00:00:00Z: spam"),
            "{told}"
        );
        assert!(told.ends_with("cambium why-agent ada --data d"), "{told}");
    }

    #[test]
    fn without_a_standing_only_genesis_speaks() {
        let told = told(&reply(), None, "");

        assert!(!told.contains("trust") && !told.contains("next"), "{told}");
    }

    #[test]
    fn an_agent_that_was_spawned_tells_what_it_inherited() {
        let spawned = GetAgentResponse {
            agent: Some(Agent {
                template: "writer".to_owned(),
                template_version: 3,
                ..Agent::default()
            }),
            config: Some(AgentConfig {
                inherited_learnings: br#"[{"pattern":"ask first"},{"pattern":"cite"}]"#.to_vec(),
                ..AgentConfig::default()
            }),
        };

        let told = told(&spawned, None, "");

        assert!(told.contains("\n  template      writer@3"), "{told}");
        assert!(told.contains("inherited     ask first\n"), "{told}");
        assert!(told.ends_with("inherited     cite"), "{told}");
    }
}
