//! A run as people name it: by its id, or by the key that it was started with.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::hypha::v1::{GetRunRequest, Run};
use uuid::Uuid;

use crate::shell;

/// Says that a key follows, for the keys that look like an id.
const KEY: &str = "key:";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunName {
    Id(String),
    Key(String),
}

impl FromStr for RunName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix(KEY) {
            Some(key) => Self::Key(key.to_owned()),
            None if Uuid::try_parse(text).is_ok() => Self::Id(text.to_owned()),
            None => Self::Key(text.to_owned()),
        })
    }
}

/// As it can be typed again.
impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Id(id) => id.clone(),
            Self::Key(key) if Self::from_str(key).as_ref() == Ok(self) => key.clone(),
            Self::Key(key) => format!("{KEY}{key}"),
        };
        f.write_str(&shell::word(&text))
    }
}

impl RunName {
    /// The id and the key, one of them empty, as requests take them.
    pub(crate) fn parts(&self) -> (String, String) {
        match self {
            Self::Id(id) => (id.clone(), String::new()),
            Self::Key(key) => (String::new(), key.clone()),
        }
    }

    /// The run as it stands.
    pub(crate) async fn run(
        &self,
        connection: &Connection,
        workspace: &str,
    ) -> anyhow::Result<Run> {
        let (run_id, request_key) = self.parts();
        let request = GetRunRequest {
            workspace_id: workspace.to_owned(),
            run_id,
            request_key,
        };
        let reply = connection.retrying(|| {
            let (mut runs, request) = (connection.runs(), request.clone());
            async move { runs.get_run(request).await }
        });
        reply.await?.run.context("the service's reply holds no run")
    }

    /// The run's id; asks only where a key names it.
    pub(crate) async fn id(
        &self,
        connection: &Connection,
        workspace: &str,
    ) -> anyhow::Result<String> {
        match self {
            Self::Id(id) => Ok(id.clone()),
            Self::Key(_) => Ok(self.run(connection, workspace).await?.run_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0197b1c2-7d3e-7a00-8000-000000000001";

    fn named(text: &str) -> RunName {
        text.parse().unwrap()
    }

    #[test]
    fn what_looks_like_an_id_is_one_unless_it_is_said_to_be_a_key() {
        assert_eq!(named(ID), RunName::Id(ID.to_owned()));
        assert_eq!(named("nightly"), RunName::Key("nightly".to_owned()));
        assert_eq!(named(&format!("key:{ID}")), RunName::Key(ID.to_owned()));
        assert_eq!(named("key:key:x"), RunName::Key("key:x".to_owned()));
    }

    #[test]
    fn a_name_is_shown_as_it_can_be_typed_again() {
        let keyed = format!("key:{ID}");
        for text in [ID, "nightly", keyed.as_str(), "key:key:x"] {
            assert_eq!(named(text).to_string(), text);
        }
        assert_eq!(named("key:nightly").to_string(), "nightly");
        assert_eq!(named("the first").to_string(), "'the first'");
    }
}
