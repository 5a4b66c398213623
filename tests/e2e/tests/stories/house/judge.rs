//! An operator who asks immune how agents stand, and why.

use std::time::Duration;

use cambium_client::{Connection, refusal};
use cambium_e2e::hand::WORKSPACE;
use cambium_proto::hypha::v1::Run;
use cambium_proto::immune::v1::{
    ExplainStandingRequest, GetStandingRequest, LedgerEntry, Quarantine, QuarantineAgentRequest,
    ScoreKind, Standing,
};
use cambium_testkit::wait_until;
use tonic::{Code, Status};
use uuid::Uuid;

/// For what was sent to be applied, on a machine that is busy.
const APPLIED: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(crate) struct Judge(Connection);

/// Whether a service answers calls, be it with a refusal: not all of them keep standings.
pub(super) async fn answers(door: &Connection) -> bool {
    let asked = Judge(door.clone()).asked("nobody").await;
    asked.map_or_else(|status| !refusal::is_transport(&status), |_| true)
}

impl Judge {
    pub(crate) const fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// None for an agent that immune has not heard of.
    async fn asked(&self, name: &str) -> Result<Option<Standing>, Status> {
        let is_id = Uuid::try_parse(name).is_ok();
        let named = |yes: bool| if yes { name.to_owned() } else { String::new() };
        let request = GetStandingRequest {
            workspace_id: WORKSPACE.to_owned(),
            agent_id: named(is_id),
            name: named(!is_id),
        };
        match self.0.standings().get_standing(request).await {
            Ok(reply) => Ok(reply.into_inner().standing),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    pub(crate) async fn standing(&self, agent: &str) -> Standing {
        self.asked(agent).await.unwrap().unwrap()
    }

    /// Everything that moved a score, or was heard and did not, from the first to the last.
    pub(crate) async fn ledger(&self, agent: &str, score: ScoreKind) -> Vec<LedgerEntry> {
        let mut request = ExplainStandingRequest {
            workspace_id: WORKSPACE.to_owned(),
            agent_id: agent.to_owned(),
            score: score.into(),
            page_size: 100,
            ..ExplainStandingRequest::default()
        };
        let mut entries = Vec::new();
        loop {
            let reply = self.0.standings().explain_standing(request.clone()).await;
            let reply = reply.unwrap().into_inner();
            entries.extend(reply.entries);
            if reply.next_page_token.is_empty() {
                entries.reverse();
                return entries;
            }
            request.page_token = reply.next_page_token;
        }
    }

    /// What moved an agent's generosity.
    pub(crate) async fn generosity(&self, agent: &str) -> Vec<LedgerEntry> {
        self.ledger(agent, ScoreKind::Generosity).await
    }

    /// Waits until all gratitude and all dead ends of an ended run stand in the books of its agents.
    pub(crate) async fn until_applied(&self, run: &Run, agents: &[&str]) {
        let sent = usize::try_from(run.gratitude + run.dead_ends).unwrap();
        wait_until(APPLIED, "what the run sent is applied", async || {
            let mut applied = 0;
            for agent in agents {
                let entries = self.generosity(agent).await;
                let own = entries
                    .iter()
                    .filter(|one| one.workflow_run_id == run.run_id);
                applied += own.count();
            }
            assert!(applied <= sent, "{applied} of {sent}");
            applied == sent
        })
        .await;
    }

    pub(crate) async fn quarantine(&self, agent: &str) -> Quarantine {
        let request = QuarantineAgentRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::now_v7().to_string(),
            agent_id: agent.to_owned(),
            reason: "asked by a story".to_owned(),
            duration: None,
            over_cap: true,
        };
        let reply = self.0.quarantines().quarantine_agent(request).await;
        reply.unwrap().into_inner().quarantine.unwrap()
    }
}

/// A score in millionths, as it is kept.
pub(crate) fn millionths(score: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
    let millionths = (score * 1_000_000.0).round() as i64;
    millionths
}
