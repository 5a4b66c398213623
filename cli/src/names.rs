//! What agents are called, for tables that know them by id. An agent whose name cannot be had keeps its id.

use std::collections::{BTreeMap, BTreeSet};

use cambium_client::Connection;
use cambium_proto::genesis::v1::GetAgentRequest;
use tokio::task::JoinSet;
use uuid::Uuid;

/// As many as a page of a table may name; the rest keep their ids.
const MOST: usize = 50;

#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Asks genesis, once for each, all at once.
    pub(crate) async fn of<'a>(
        connection: &Connection,
        workspace: &str,
        ids: impl Iterator<Item = &'a str>,
    ) -> Self {
        let ids: BTreeSet<&str> = ids.filter(|id| Uuid::try_parse(id).is_ok()).collect();
        let mut asks = JoinSet::new();
        for id in ids.into_iter().take(MOST) {
            let request = GetAgentRequest {
                workspace_id: workspace.to_owned(),
                agent_id: id.to_owned(),
                name: String::new(),
            };
            let mut agents = connection.agents();
            asks.spawn(async move { agents.get_agent(request).await });
        }
        let mut names = BTreeMap::new();
        while let Some(asked) = asks.join_next().await {
            let agent = asked.ok().and_then(Result::ok);
            if let Some(agent) = agent.and_then(|reply| reply.into_inner().agent) {
                names.insert(agent.agent_id, agent.name);
            }
        }
        Self(names)
    }

    /// The name, or what was given.
    pub(crate) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_no_name_keeps_what_it_is_known_by() {
        let names = Names(BTreeMap::from([("a1".to_owned(), "ada".to_owned())]));

        assert_eq!(
            (names.name("a1"), names.name("operator:eve")),
            ("ada", "operator:eve")
        );
    }
}
