//! `cambium agents`: who works here, and how each stands.

use std::collections::BTreeMap;

use cambium_proto::genesis::v1::{Agent, ListAgentsRequest, ListAgentsResponse};
use cambium_proto::immune::v1::Standing;
use serde_json::Value;

use crate::bar::bar;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::json::{self, word};
use crate::standing;
use crate::table::{moment, table};

/// List agents by name, with how each stands
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium agents --workspace north")]
pub(crate) struct Args {
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

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListAgentsRequest {
        workspace_id: context.workspace(),
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = connection.retrying(|| {
        let (mut agents, request) = (connection.agents(), request.clone());
        async move { agents.list_agents(request).await }
    });
    let reply = reply.await?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        hint(&format!(
            "more: cambium agents --page-token {}",
            reply.next_page_token
        ));
    }
    let ids: Vec<String> = reply
        .agents
        .iter()
        .map(|agent| agent.agent_id.clone())
        .collect();
    let standings = standing::of(&connection, &context.workspace(), &ids).await;
    let known = standings.unwrap_or_default();
    let document = with_standings(&reply, &known)?;
    context.print_value(&document, |_| told(&reply.agents, &known))?;
    Ok(Exit::Done)
}

/// The reply, with a `standing` in each agent that has one.
fn with_standings(
    reply: &ListAgentsResponse,
    known: &BTreeMap<String, Standing>,
) -> anyhow::Result<Value> {
    let mut document = json::document(reply)?;
    let agents = document["agents"].as_array_mut().into_iter().flatten();
    for (shown, agent) in agents.zip(&reply.agents) {
        if let Some(standing) = known.get(&agent.agent_id) {
            shown["standing"] = json::document(standing)?;
        }
    }
    Ok(document)
}

fn told(agents: &[Agent], known: &BTreeMap<String, Standing>) -> String {
    if known.is_empty() {
        let rows = agents.iter().map(|agent| {
            let [template, state, capabilities, enrolled] = facts(agent);
            [
                agent.name.clone(),
                agent.agent_id.clone(),
                template,
                state,
                capabilities,
                enrolled,
            ]
        });
        let head = [
            "name",
            "agent",
            "template",
            "state",
            "capabilities",
            "enrolled",
        ];
        return table(head, rows);
    }
    let head = [
        "name",
        "trust",
        "generosity",
        "health",
        "badges",
        "template",
        "state",
        "capabilities",
        "enrolled",
        "agent",
    ];
    let rows = agents.iter().map(|agent| {
        let standing = known.get(&agent.agent_id);
        let of = |show: fn(&Standing) -> String| standing.map_or_else(|| "-".to_owned(), show);
        let [template, state, capabilities, enrolled] = facts(agent);
        [
            agent.name.clone(),
            of(|standing| bar(standing.trust)),
            of(|standing| bar(standing.generosity)),
            of(standing::health),
            of(standing::badges),
            template,
            state,
            capabilities,
            enrolled,
            agent.agent_id.clone(),
        ]
    });
    standing::painted(&table(head, rows))
}

/// Its template and that one's version; none for an agent from outside.
pub(crate) fn origin(agent: &Agent) -> Option<String> {
    let is_spawned = !agent.template.is_empty();
    is_spawned.then(|| format!("{}@{}", agent.template, agent.template_version))
}

/// What genesis knows.
fn facts(agent: &Agent) -> [String; 4] {
    [
        origin(agent).unwrap_or_else(|| "-".to_owned()),
        word(agent.state().as_str_name(), "AGENT_STATE_"),
        agent.capabilities.join(", "),
        moment(agent.enroll_time.as_ref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> ListAgentsResponse {
        let agent = |name: &str| Agent {
            name: name.to_owned(),
            agent_id: format!("id-{name}"),
            ..Agent::default()
        };
        ListAgentsResponse {
            agents: vec![agent("ada"), agent("bob")],
            ..ListAgentsResponse::default()
        }
    }

    fn known() -> BTreeMap<String, Standing> {
        let standing = Standing {
            agent_id: "id-bob".to_owned(),
            trust: 0.5,
            generosity: 0.71,
            ..Standing::default()
        };
        BTreeMap::from([("id-bob".to_owned(), standing)])
    }

    #[test]
    fn a_standing_stands_in_the_agent_that_has_one() {
        let document = with_standings(&reply(), &known()).unwrap();

        assert_eq!(document["agents"][0].get("standing"), None);
        assert_eq!(document["agents"][1]["standing"]["generosity"], 0.71);
        assert_eq!(document["nextPageToken"], "");
    }

    #[test]
    fn where_nobody_keeps_standings_the_list_is_as_it_was() {
        let told = told(&reply().agents, &BTreeMap::new());

        assert!(told.starts_with("NAME  AGENT"), "{told}");
    }

    #[test]
    fn an_agent_that_was_spawned_tells_of_its_template() {
        let spawned = Agent {
            template: "writer".to_owned(),
            template_version: 3,
            ..Agent::default()
        };

        let told = told(&[spawned, Agent::default()], &BTreeMap::new());

        assert!(told.contains("writer@3"), "{told}");
        assert_eq!(origin(&Agent::default()), None);
    }

    #[test]
    fn scores_are_bars() {
        let told = told(&reply().agents, &known());

        assert!(
            told.contains("bob   █████░░░░░ 0.50  ███████░░░ 0.71"),
            "{told}"
        );
        assert!(told.contains("ada   -"), "{told}");
    }
}
