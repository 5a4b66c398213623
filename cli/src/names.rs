//! What agents are called, for tables that know them by id. An agent whose name cannot be had keeps its id.

use std::collections::{BTreeMap, BTreeSet};

use cambium_client::Connection;
use cambium_proto::genesis::v1::GetAgentRequest;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Calls at once.
const AT_ONCE: usize = 16;
/// As many as a table may name; the rest keep their ids.
const MOST: usize = 1_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Asks genesis, once for each.
    pub(crate) async fn of<'a>(
        connection: &Connection,
        workspace: &str,
        ids: impl Iterator<Item = &'a str>,
    ) -> Self {
        let ids: BTreeSet<&str> = ids.filter(|id| Uuid::try_parse(id).is_ok()).collect();
        let ids: Vec<&str> = ids.into_iter().take(MOST).collect();
        let mut names = BTreeMap::new();
        for ids in ids.chunks(AT_ONCE) {
            let mut asks = JoinSet::new();
            for id in ids {
                let request = GetAgentRequest {
                    workspace_id: workspace.to_owned(),
                    agent_id: (*id).to_owned(),
                    name: String::new(),
                };
                let mut agents = connection.agents();
                asks.spawn(async move { agents.get_agent(request).await });
            }
            let replies = asks.join_all().await.into_iter().filter_map(Result::ok);
            let agents = replies.filter_map(|reply| reply.into_inner().agent);
            names.extend(agents.map(|agent| (agent.agent_id, agent.name)));
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
