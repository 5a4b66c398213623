//! Tokens signed with the keys of a data folder: who can read it is the operator.

use std::sync::Arc;
use std::time::Duration;

use cambium_client::{Error, Signed, TokenSource};
use cambium_kernel::{Clock as _, SystemClock};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::token::{Mint, SigningKey};
use chrono::TimeDelta;

use crate::folder::Folder;

/// Every service that a caller may speak to.
const SERVICES: [&str; 5] = ["hypha", "genesis", "immune", "stigmergy", "swarm"];
/// How long a signed token is used; well below the shortest life.
const KEEP: Duration = Duration::from_secs(5 * 60);

pub(crate) const OPERATOR_LIFE: TimeDelta = TimeDelta::minutes(15);
const WORKER_LIFE: TimeDelta = TimeDelta::hours(1);

/// The operator of this machine.
pub(crate) fn operator_wish(ttl: TimeDelta) -> Mint {
    Mint {
        kind: Kind::Operator,
        name: user(),
        audience: SERVICES.map(str::to_owned).to_vec(),
        ttl,
        workspaces: vec!["*".to_owned()],
        agents: Vec::new(),
        capabilities: Vec::new(),
        act: None,
        lease: None,
        fence: None,
    }
}

/// An agent, with the operator's name on it.
pub(crate) fn agent_wish(agent_id: &str, workspace: &str, ttl: TimeDelta) -> Mint {
    Mint {
        kind: Kind::Agent,
        name: agent_id.to_owned(),
        workspaces: vec![workspace.to_owned()],
        act: Some(format!("operator:{}", user())),
        ..operator_wish(ttl)
    }
}

/// A program of the operator's own that is let into swarm.
pub(crate) fn program_wish(kind: Kind, name: String, workspace: String, ttl: TimeDelta) -> Mint {
    Mint {
        kind,
        name,
        workspaces: vec![workspace],
        ..operator_wish(ttl)
    }
}

/// Which agents a worker works for, and what they can do.
#[derive(Clone, Debug)]
pub(crate) struct WorkerWish {
    pub(crate) worker: String,
    pub(crate) workspace: String,
    pub(crate) agent_ids: Vec<String>,
    pub(crate) capabilities: Vec<String>,
}

pub(crate) fn operator(folder: &Folder) -> anyhow::Result<Arc<dyn TokenSource>> {
    signed(folder, "operator", || operator_wish(OPERATOR_LIFE))
}

pub(crate) fn agent(
    folder: &Folder,
    agent_id: String,
    workspace: String,
) -> anyhow::Result<Arc<dyn TokenSource>> {
    signed(folder, "operator", move || {
        agent_wish(&agent_id, &workspace, OPERATOR_LIFE)
    })
}

pub(crate) fn worker(folder: &Folder, wish: WorkerWish) -> anyhow::Result<Arc<dyn TokenSource>> {
    signed(folder, "enrolment", move || Mint {
        kind: Kind::Worker,
        name: wish.worker.clone(),
        ttl: WORKER_LIFE,
        workspaces: vec![wish.workspace.clone()],
        agents: wish.agent_ids.clone(),
        capabilities: wish.capabilities.clone(),
        ..operator_wish(WORKER_LIFE)
    })
}

/// Whoever measures what turns cost. No mind, body or worker ever is.
pub(crate) fn meter(folder: &Folder, workspace: &str) -> anyhow::Result<Arc<dyn TokenSource>> {
    let workspace = workspace.to_owned();
    signed(folder, "operator", move || Mint {
        kind: Kind::Meter,
        name: "demo".to_owned(),
        workspaces: vec![workspace.clone()],
        ..operator_wish(OPERATOR_LIFE)
    })
}

/// Signs one token with the operator's key.
pub(crate) fn sign(folder: &Folder, wish: Mint) -> anyhow::Result<String> {
    Ok(SigningKey::load(&folder.key("operator"))?.mint(SystemClock.now(), wish)?)
}

fn signed(
    folder: &Folder,
    key: &str,
    wish: impl Fn() -> Mint + Send + Sync + 'static,
) -> anyhow::Result<Arc<dyn TokenSource>> {
    let key = SigningKey::load(&folder.key(key))?;
    Ok(Arc::new(Signed::new(KEEP, move || {
        key.mint(SystemClock.now(), wish())
            .map_err(|error| Error::Unsigned(error.to_string()))
    })))
}

/// The name of whoever runs this program.
fn user() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid())
        .ok()
        .flatten();
    user.map_or_else(|| "operator".to_owned(), |user| user.name)
}

#[cfg(test)]
mod tests {
    use cambium_kernel::ManualClock;
    use cambium_service_kit::token::{Bundle, Verifier};

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(parent.path());
        drop(folder.open().unwrap());
        (parent, folder)
    }

    fn verifier(folder: &Folder, audience: &str) -> Verifier {
        let bundle = Bundle::load(&folder.bundle()).unwrap();
        Verifier::new(
            bundle,
            audience,
            Arc::new(ManualClock::at(SystemClock.now())),
        )
    }

    #[test]
    fn every_service_takes_the_operators_token() {
        let (_parent, folder) = folder();
        let token = operator(&folder).unwrap().token().unwrap();

        for service in SERVICES {
            let principal = verifier(&folder, service).verify(&token).unwrap();
            assert_eq!(
                (principal.kind, principal.workspaces.as_slice()),
                (Kind::Operator, &["*".to_owned()][..])
            );
        }
    }

    #[test]
    fn an_agents_token_says_on_whose_behalf() {
        let (_parent, folder) = folder();
        let token = agent(&folder, "a1".to_owned(), "north".to_owned())
            .unwrap()
            .token()
            .unwrap();

        let principal = verifier(&folder, "hypha").verify(&token).unwrap();

        assert_eq!(principal.subject(), "agent:a1");
        assert_eq!(principal.act, Some(format!("operator:{}", user())));
        assert_eq!(principal.workspaces, ["north"]);
    }

    #[test]
    fn a_workers_token_names_its_agents() {
        let (_parent, folder) = folder();
        let wish = WorkerWish {
            worker: "w1".to_owned(),
            workspace: "north".to_owned(),
            agent_ids: vec!["a1".to_owned()],
            capabilities: vec!["role:writer".to_owned()],
        };

        let token = worker(&folder, wish).unwrap().token().unwrap();

        let principal = verifier(&folder, "hypha").verify(&token).unwrap();
        assert_eq!(principal.subject(), "worker:w1");
        assert_eq!(
            (principal.agents.len(), principal.capabilities.len()),
            (1, 1)
        );
    }
}
