//! What operators do with a mind in a session, and what a mind does for itself.

use cambium_proto::swarm::v1 as wire;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::game::{Game, instant, optional, refused, text};
use crate::fixture::{WORKSPACE, first_instant, request_id};

impl Game<'_> {
    pub(super) async fn open_session(&mut self, name: &str, step: &Value) {
        let ttl = instant(step["until_us"].as_i64().unwrap()) - self.swarm.now();
        let request = wire::OperateMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: name.to_owned(),
            preempt: step["preempt"] == true,
            ttl_s: Some(ttl.num_seconds()),
        };
        let reply = self.swarm.control().operate_mind(request).await.unwrap();
        let session = reply.into_inner().session.unwrap();
        self.sessions.insert(name.to_owned(), session.session_id);
    }

    pub(super) async fn close_session(&mut self, name: &str) {
        let request = wire::CloseSessionRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            session_id: self.sessions.remove(name).unwrap(),
        };
        self.swarm.control().close_session(request).await.unwrap();
    }

    /// What a mind does for itself it does with a token of its own: here by a session that is open for that long.
    pub(super) async fn as_the_mind(&mut self, name: &str) -> String {
        let until = self.swarm.now() - first_instant() + TimeDelta::hours(1);
        let step = json!({"until_us": until.num_microseconds()});
        self.open_session(name, &step).await;
        let request = wire::MintMindTokenRequest {
            workspace_id: WORKSPACE.to_owned(),
            session_id: self.sessions[name].clone(),
            organ: wire::Organ::Self_.into(),
            ..wire::MintMindTokenRequest::default()
        };
        let minted = self.swarm.timeline().mint_mind_token(request).await;
        minted.unwrap().into_inner().token
    }

    pub(super) async fn rest(&mut self, name: &str, until: &Value) {
        let token = self.as_the_mind(name).await;
        let request = wire::RestRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            until: optional(until),
        };
        self.swarm
            .minds_bearing(&token)
            .rest(request)
            .await
            .unwrap();
        self.close_session(name).await;
    }

    pub(super) async fn lend(&mut self, step: &Value) -> Value {
        let lender = text(step, "lender");
        let token = self.as_the_mind(lender).await;
        let request = wire::LendShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            borrower: text(step, "borrower").to_owned(),
            share_ppm: step["share_ppm"].as_i64().unwrap(),
            until: optional(&step["until_us"]),
        };
        let lent = self.swarm.loans_bearing(&token).lend_share(request).await;
        self.close_session(lender).await;
        refused(lent.map(|_| ()))
    }
}
