//! `cambium.immune.v1.GenerosityService`.

use std::sync::Arc;

use cambium_proto::immune::v1::generosity_service_server::GenerosityService;
use cambium_proto::immune::v1::{
    GetPolicyRequest, GetPolicyResponse, PutPolicyRequest, PutPolicyResponse,
    RecordConsumptionRequest, RecordConsumptionResponse, RecordContributionRequest,
    RecordContributionResponse, RecordKnowledgeShareRequest, RecordKnowledgeShareResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::app::fact::What;
use crate::convert::{self, Recorded};

#[derive(Debug)]
pub(crate) struct GenerosityRpc(pub(crate) Arc<App>);

#[tonic::async_trait]
impl GenerosityService for GenerosityRpc {
    async fn record_contribution(
        &self,
        request: Request<RecordContributionRequest>,
    ) -> Result<Response<RecordContributionResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let recorded = Recorded {
            cause_id: &request.cause_id,
            agent_id: &request.agent_id,
            workflow_run_id: &request.workflow_run_id,
            occur_time: request.occur_time.as_ref(),
            reason: &request.reason,
        };
        let receiver = convert::agent_from_wire("receiver_agent_id", &request.receiver_agent_id)?;
        let what = What::Contribution {
            receiver: Some(receiver),
        };
        let fact = convert::fact_of(&principal, "hypha", workspace, recorded, what)?;
        let (action, generosity) = self.0.record(fact).await?;
        Ok(Response::new(RecordContributionResponse {
            action: convert::action_to_wire(action).into(),
            generosity: generosity.as_f64(),
        }))
    }

    async fn record_consumption(
        &self,
        request: Request<RecordConsumptionRequest>,
    ) -> Result<Response<RecordConsumptionResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let recorded = Recorded {
            cause_id: &request.cause_id,
            agent_id: &request.agent_id,
            workflow_run_id: &request.workflow_run_id,
            occur_time: request.occur_time.as_ref(),
            reason: &request.reason,
        };
        let fact = convert::fact_of(&principal, "hypha", workspace, recorded, What::Consumption)?;
        let (action, generosity) = self.0.record(fact).await?;
        Ok(Response::new(RecordConsumptionResponse {
            action: convert::action_to_wire(action).into(),
            generosity: generosity.as_f64(),
        }))
    }

    async fn record_knowledge_share(
        &self,
        request: Request<RecordKnowledgeShareRequest>,
    ) -> Result<Response<RecordKnowledgeShareResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let recorded = Recorded {
            cause_id: &request.cause_id,
            agent_id: &request.agent_id,
            workflow_run_id: "",
            occur_time: request.occur_time.as_ref(),
            reason: &request.reason,
        };
        let what = What::KnowledgeShare;
        let fact = convert::fact_of(&principal, "stigmergy", workspace, recorded, what)?;
        let (action, generosity) = self.0.record(fact).await?;
        Ok(Response::new(RecordKnowledgeShareResponse {
            action: convert::action_to_wire(action).into(),
            generosity: generosity.as_f64(),
        }))
    }

    async fn get_policy(
        &self,
        request: Request<GetPolicyRequest>,
    ) -> Result<Response<GetPolicyResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let policy = self.0.policy(&workspace).await?;
        Ok(Response::new(GetPolicyResponse {
            policy: Some(convert::policy_to_wire(&policy)),
        }))
    }

    async fn put_policy(
        &self,
        request: Request<PutPolicyRequest>,
    ) -> Result<Response<PutPolicyResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::policy_from_wire(request.get_ref().policy.as_ref())?;
        let reply = self.0.put_policy(&call, &workspace, &wish).await?;
        Ok(Response::new(reply))
    }
}
