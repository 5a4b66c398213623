//! Replies as protobuf JSON: lowerCamelCase names, fields at their default included, whole numbers of 64 bits as text.

use std::sync::LazyLock;

use anyhow::Context as _;
use cambium_proto::{genesis, hypha, immune, stigmergy, swarm};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};

/// The contracts this program was built with.
static CONTRACTS: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(cambium_proto::DESCRIPTOR_SET).ok());

/// A message that knows its full name.
pub(crate) trait Named: Message {
    const NAME: &'static str;
}

macro_rules! named {
    ($($package:ident: $($message:ident),+;)+) => {
        $($(impl Named for $package::v1::$message {
            const NAME: &'static str = concat!("cambium.", stringify!($package), ".v1.", stringify!($message));
        })+)+

        #[cfg(test)]
        const NAMES: &[&str] = &[$($(<$package::v1::$message as Named>::NAME),+),+];
    };
}

named! {
    hypha: CancelRunResponse, ExplainRunResponse, ExplainTaskResponse, GetGraphResponse, GetRunResponse, GetWeightsResponse,
        ImportGraphResponse, ListGraphsResponse, ListRunsResponse, PauseRunResponse, PutWeightsResponse, RerunFromResponse,
        ResumeRunResponse, SignalRunResponse, StartRunResponse, ValidateGraphResponse, WatchRunResponse;
    genesis: EnrollAgentResponse, ExplainLearningResponse, ExportTemplateResponse, GetAgentResponse, GetTemplateResponse,
        ImportTemplateResponse, ListAgentsResponse, ListLearningsResponse, ListTemplatesResponse, ListVersionsResponse,
        RetireAgentResponse, RollBackLearningResponse, SpawnResponse;
    immune: AcknowledgeAlertResponse, AdjustTrustResponse, DryRunRuleResponse, ExplainStandingResponse, GetPolicyResponse,
        ListAlertsResponse, ListAnomaliesResponse, ListQuarantinesResponse, ListRulesResponse, PutPolicyResponse,
        PutRuleResponse, QuarantineAgentResponse, ReleaseQuarantineResponse, Rule, Standing;
    stigmergy: GetLineageResponse, GetMarkerResponse, ListRegionsResponse, PlaceMarkerResponse, ReinforceMarkerResponse,
        SenseGradientResponse, SenseMarkersResponse, TransformMarkerResponse, WatchMarkersResponse;
    swarm: CompleteTransferResponse, ReceiveMindResponse, AnswerHandOffResponse, AppendRecordResponse, AssignWorkResponse, CloseSessionResponse, CompleteWorkResponse,
        DeclineMindResponse, DiffIdentityResponse, EndLoanResponse, EndRestResponse, ExplainMindResponse, ForecastWalletResponse,
        Fresh, GetControlResponse, GetDocumentResponse, GetLeadResponse, GetMindResponse, GetPersonaResponse,
        GetTimelineResponse, GetTurnResponse, HoldBrakeResponse, ImportPersonaResponse, LendShareResponse, ListAuditResponse,
        ListDocumentsResponse, ResetTimelineResponse, WatchAuditResponse,
        ListLoansResponse, ListMindsResponse, ListPersonaVersionsResponse, ListReviewsResponse, ListTurnsResponse,
        ListWorkResponse, MoveLeadResponse, OfferHandOffResponse, OpenQuestionResponse, PreviewImportResponse,
        PreviewTurnsResponse, ProposeMindResponse, PutPersonaResponse, ReleaseBrakeResponse, RemoveShareResponse,
        RequestRetirementResponse, RestResponse, RetireMindResponse, ReturnLoanResponse, ReturnWorkResponse, RouteWorkResponse,
        RuleAsOperatorResponse, SetAgendaResponse, SetDialResponse, SetHasteResponse, SetShareResponse, SetTargetResponse,
        SetWalletResponse, SubmitWorkResponse, TakeStewardshipResponse, TimelineMind, VerifyCitationsResponse,
        WatchTimelineResponse, WithdrawRequestResponse, WithdrawWorkResponse;
}

/// A reply as one line of JSON.
pub(crate) fn reply<R: Named>(reply: &R) -> anyhow::Result<String> {
    let message = DynamicMessage::decode(contract::<R>()?, reply.encode_to_vec().as_slice())?;
    dynamic(&message)
}

/// A reply as a document that something else can be put beside.
pub(crate) fn document<R: Named>(message: &R) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::from_str(&reply(message)?)?)
}

/// Reads a message from its protobuf JSON. Refuses fields that the contract does not have.
pub(crate) fn read<R: Named + Default>(document: serde_json::Value) -> anyhow::Result<R> {
    let message = DynamicMessage::deserialize(contract::<R>()?, document)?;
    Ok(R::decode(message.encode_to_vec().as_slice())?)
}

fn contract<R: Named>() -> anyhow::Result<MessageDescriptor> {
    let contracts = CONTRACTS.as_ref().context("the contracts cannot be read")?;
    contracts
        .get_message_by_name(R::NAME)
        .with_context(|| format!("no contract has {}", R::NAME))
}

/// Any message as one line of JSON.
pub(crate) fn dynamic(message: &DynamicMessage) -> anyhow::Result<String> {
    let options = SerializeOptions::new().skip_default_fields(false);
    let mut serializer = serde_json::Serializer::new(Vec::new());
    message.serialize_with_options(&mut serializer, &options)?;
    Ok(String::from_utf8(serializer.into_inner())?)
}

/// An enum's value as people say it: without the enum's name, in lower case.
pub(crate) fn word(value: &str, prefix: &str) -> String {
    value
        .strip_prefix(prefix)
        .unwrap_or(value)
        .to_lowercase()
        .replace('_', " ")
}

/// The enum's value that [`word`] says so, hyphens allowed for blanks.
pub(crate) fn value(word: &str, prefix: &str) -> String {
    format!("{prefix}{}", word.replace([' ', '-'], "_").to_uppercase())
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::{GetRunResponse, Run, RunState, TaskCounts};

    use super::*;

    #[test]
    fn every_reply_has_its_contract() {
        let contracts = CONTRACTS.as_ref().unwrap();

        for name in NAMES {
            assert!(contracts.get_message_by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn fields_at_their_default_are_there_and_large_numbers_are_text() {
        let run = Run {
            run_id: "r".to_owned(),
            state: RunState::Succeeded.into(),
            tasks: Some(TaskCounts {
                succeeded: 3,
                ..TaskCounts::default()
            }),
            ..Run::default()
        };

        let printed = reply(&GetRunResponse { run: Some(run) }).unwrap();

        let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(value["run"]["runId"], "r");
        assert_eq!(value["run"]["state"], "RUN_STATE_SUCCEEDED");
        assert_eq!(value["run"]["tasks"]["succeeded"], "3");
        assert_eq!(value["run"]["tasks"]["failed"], "0");
        assert_eq!(value["run"]["paused"], false);
        assert!(!printed.contains('\n'));
    }

    #[test]
    fn states_are_said_in_plain_words() {
        assert_eq!(word("TASK_STATE_BACKING_OFF", "TASK_STATE_"), "backing off");
        assert_eq!(
            value("backing-off", "TASK_STATE_"),
            "TASK_STATE_BACKING_OFF"
        );
    }
}
