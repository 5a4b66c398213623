//! `cambium.immune.v1.RuleService`.

use std::sync::Arc;

use cambium_proto::immune::v1::dry_run_rule_request::Which;
use cambium_proto::immune::v1::rule_service_server::RuleService;
use cambium_proto::immune::v1::{
    DryRunRuleRequest, DryRunRuleResponse, ListAnomaliesRequest, ListAnomaliesResponse,
    ListRulesRequest, ListRulesResponse, PutRuleRequest, PutRuleResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::{App, Tried};
use crate::convert;
use crate::error::Error;
use cambium_service_kit::page::Page;

#[derive(Debug)]
pub(crate) struct RuleRpc(pub(crate) Arc<App>);

fn tried_from_wire(which: Option<&Which>) -> Result<Tried, Error> {
    match which {
        Some(Which::RuleId(id)) => Ok(Tried::Stored(convert::text_from_wire("rule_id", id, 64)?)),
        Some(Which::Rule(rule)) => {
            let rule = convert::rule_from_wire(Some(rule))?;
            Ok(Tried::Given(Box::new(rule)))
        }
        None => Err(Error::field("rule_id", "is missing, and so is `rule`")),
    }
}

#[tonic::async_trait]
impl RuleService for RuleRpc {
    async fn put_rule(
        &self,
        request: Request<PutRuleRequest>,
    ) -> Result<Response<PutRuleResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::rule_from_wire(request.get_ref().rule.as_ref())?;
        let reply = self.0.put_rule(&call, &workspace, &wish).await?;
        Ok(Response::new(reply))
    }

    async fn list_rules(
        &self,
        request: Request<ListRulesRequest>,
    ) -> Result<Response<ListRulesResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let rules = self.0.rules(&workspace).await?;
        Ok(Response::new(ListRulesResponse {
            rules: rules.iter().map(convert::rule_to_wire).collect(),
        }))
    }

    async fn dry_run_rule(
        &self,
        request: Request<DryRunRuleRequest>,
    ) -> Result<Response<DryRunRuleResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        if !(1..=720).contains(&request.hours) {
            return Err(Error::field("hours", "is outside 1 to 720").into());
        }
        let tried = tried_from_wire(request.which.as_ref())?;
        let reply = self.0.dry_run(&workspace, &tried, request.hours).await?;
        Ok(Response::new(reply))
    }

    async fn list_anomalies(
        &self,
        request: Request<ListAnomaliesRequest>,
    ) -> Result<Response<ListAnomaliesResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let agent = match request.agent_id.as_str() {
            "" => None,
            id => Some(convert::agent_from_wire("agent_id", id)?),
        };
        let list = ["anomalies", workspace.as_str(), &request.agent_id];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.anomalies(&workspace, agent, &page).await?;
        Ok(Response::new(reply))
    }
}
