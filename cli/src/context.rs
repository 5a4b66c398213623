//! What every command works with: the flags, the data folder, a connection, and how to print.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use cambium_client::{Connection, StaticToken, TokenFile, TokenSource};
use cambium_proto::genesis::v1::{Agent, GetAgentRequest, GetAgentResponse};
use cambium_service_kit::config::Env;
use prost::Message;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::command::Globals;
use crate::discovery::{Credentials, Known, Place, discover};
use crate::failure::Refusal;
use crate::folder::Folder;
use crate::{credentials, json};

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) globals: Globals,
    env: Env,
}

impl Context {
    pub(crate) fn new(globals: Globals) -> Self {
        Self {
            globals,
            env: Env::process(),
        }
    }

    /// The data folder in use, whether it exists or not.
    pub(crate) fn folder(&self) -> Folder {
        let named = self.globals.data.as_ref().map(Folder::at);
        named.unwrap_or_else(|| Folder::default_of(&self.env))
    }

    pub(crate) fn workspace(&self) -> String {
        let named = self.globals.workspace.clone();
        let environment = || self.env.text("CAMBIUM_WORKSPACE");
        named
            .or_else(environment)
            .unwrap_or_else(|| "default".to_owned())
    }

    /// The mind that this program acts as: inside `cambium mind operate`, or where a body says so.
    pub(crate) fn mind(&self) -> Option<String> {
        self.env.text("CAMBIUM_MIND")
    }

    /// The session that it acts in.
    pub(crate) fn session(&self) -> Option<String> {
        self.env.text("CAMBIUM_SESSION_ID")
    }

    /// The shell of whoever typed this.
    pub(crate) fn shell(&self) -> String {
        self.env.text("SHELL").unwrap_or_else(|| "sh".to_owned())
    }

    /// Where to connect and with whose credentials.
    pub(crate) fn place(&self) -> Result<Place, Refusal> {
        let folder = self.folder();
        let (address, environment) = (folder.address(), self.env.text("CAMBIUM_SERVER"));
        let token_file = self.env.text("CAMBIUM_TOKEN_FILE").map(PathBuf::from);
        // A mind's token is renewed in its file; what the environment holds beside it is the first one.
        let is_renewed = token_file.is_some() && self.mind().is_some();
        let known = Known {
            flag: self.globals.server.as_deref(),
            environment: environment.as_deref(),
            address: address.as_ref(),
            folder_is_named: self.globals.data.is_some(),
            has_key: folder.key("operator").exists(),
            has_token: self.env.text("CAMBIUM_TOKEN").is_some() && !is_renewed,
            token_flag: self.globals.token_file.as_deref(),
            token_file: token_file.as_deref(),
        };
        let nothing_runs = known.flag.or(known.environment).is_none() && address.is_none();
        if known.folder_is_named && nothing_runs {
            return Err(Refusal::NotRunning {
                folder: folder.path().to_owned(),
            });
        }
        Ok(discover(&known))
    }

    /// A connection with the caller's own credentials.
    pub(crate) fn own_connection(&self) -> anyhow::Result<Connection> {
        let place = self.place()?;
        let tokens: Arc<dyn TokenSource> = match place.credentials {
            Credentials::Folder => credentials::operator(&self.folder())?,
            Credentials::File(path) => Arc::new(TokenFile::new(path)),
            Credentials::Environment => Arc::new(StaticToken::new(
                &self.env.text("CAMBIUM_TOKEN").unwrap_or_default(),
            )),
            Credentials::None => return Err(Refusal::NoCredentials { url: place.url }.into()),
        };
        Ok(Connection::open(&place.url, tokens, Default::default())?)
    }

    /// A connection as whoever the flags say.
    pub(crate) async fn connection(&self) -> anyhow::Result<Connection> {
        let own = self.own_connection()?;
        let Some(name) = &self.globals.as_agent else {
            return Ok(own);
        };
        self.may_act()?;
        let agent = self.agent(&own, name).await?;
        Ok(own.with_tokens(credentials::agent(
            &self.folder(),
            agent.agent_id,
            self.workspace(),
        )?))
    }

    /// A connection as a mind: with the token that its turn or its operator's session was given, never with the operator's own.
    pub(crate) async fn as_mind(&self) -> anyhow::Result<Connection> {
        if self.place()?.credentials == Credentials::Folder {
            return Err(Refusal::NoMind.into());
        }
        self.connection().await
    }

    /// Only who holds the operator's key may act as an agent.
    pub(crate) fn may_act(&self) -> Result<(), Refusal> {
        match self.place()?.credentials {
            Credentials::Folder => Ok(()),
            Credentials::File(_) | Credentials::Environment | Credentials::None => {
                Err(Refusal::NoKey)
            }
        }
    }

    /// Finds an agent by id or name.
    pub(crate) async fn agent(&self, connection: &Connection, name: &str) -> anyhow::Result<Agent> {
        let reply = self.whole_agent(connection, name).await?;
        reply.agent.context("the service's reply holds no agent")
    }

    /// An agent by id or name, with what it is told to be.
    pub(crate) async fn whole_agent(
        &self,
        connection: &Connection,
        name: &str,
    ) -> anyhow::Result<GetAgentResponse> {
        let is_id = Uuid::try_parse(name).is_ok();
        let request = GetAgentRequest {
            workspace_id: self.workspace(),
            agent_id: if is_id {
                name.to_owned()
            } else {
                String::new()
            },
            name: if is_id {
                String::new()
            } else {
                name.to_owned()
            },
        };
        let reply = connection.retrying(|| {
            let (mut agents, request) = (connection.agents(), request.clone());
            async move { agents.get_agent(request).await }
        });
        Ok(reply.await?)
    }

    /// Prints a reply: as JSON if that was asked for, else as `human` puts it.
    pub(crate) fn print<R: json::Named>(
        &self,
        reply: &R,
        human: impl FnOnce(&R) -> String,
    ) -> anyhow::Result<()> {
        let text = if self.globals.json {
            json::reply(reply)?
        } else {
            human(reply)
        };
        emit(&text);
        Ok(())
    }

    /// Prints what is no service's reply.
    pub(crate) fn print_value<V: Serialize>(
        &self,
        value: &V,
        human: impl FnOnce(&V) -> String,
    ) -> anyhow::Result<()> {
        let text = if self.globals.json {
            serde_json::to_string(value)?
        } else {
            human(value)
        };
        emit(&text);
        Ok(())
    }
}

/// A new request id.
pub(crate) fn request_id() -> String {
    Uuid::now_v7().to_string()
}

/// The request id of a step: the same for the same request, so that whoever asks again goes on where it failed.
pub(crate) fn step_id<R: Message>(step: &str, request: &R) -> String {
    let mut digest = Sha256::new();
    digest.update(step);
    digest.update(b"\n");
    digest.update(request.encode_to_vec());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// Writes to standard output; a reader that has left ends the program as the shell expects.
pub(crate) fn emit(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{}", text.trim_end_matches('\n')).is_err() {
        std::process::exit(0);
    }
}

/// Writes a hint or progress to standard error.
pub(crate) fn hint(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::SetShareRequest;

    use super::*;

    #[test]
    fn a_step_is_known_again_and_told_from_every_other() {
        let share = |share_ppm| SetShareRequest {
            instance: "eureka".to_owned(),
            share_ppm,
            ..SetShareRequest::default()
        };

        let id = step_id("share", &share(1));

        assert!(Uuid::try_parse(&id).is_ok(), "{id}");
        assert_eq!(id, step_id("share", &share(1)));
        assert_ne!(id, step_id("share", &share(2)));
        assert_ne!(id, step_id("haste", &share(1)));
    }
}
