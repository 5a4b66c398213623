//! Minds, and who they are.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::Wakes;

use super::{Ask, eureka, looked, why};
use crate::agenda::stamp;
use crate::authority::calls::asked;
use crate::authority::raw::call;
use crate::authority::stage::HOUR;
use crate::fixture::{BODY, Fixture, WORKSPACE, body_target, opening, request_id};
use crate::minds::proposal;
use crate::remnants::small;

pub(super) fn minds(swarm: &Fixture) -> Vec<Ask> {
    let until = stamp(swarm.now() + HOUR);
    let norn = "norn".to_owned();
    let target = body_target(BODY);
    let decline = asked!(DeclineMindRequest {
        instance: norn,
        reason: why()
    });
    let set = asked!(SetTargetRequest {
        instance: eureka(),
        target: target
    });
    let retire = asked!(RetireMindRequest {
        instance: eureka(),
        reason: why()
    });
    let receive = asked!(ReceiveMindRequest {
        host: "there".to_owned()
    });
    let complete = asked!(CompleteTransferRequest {
        instance: eureka(),
        to_host: "there".to_owned(),
        bundle_sha256: "0".repeat(64),
    });
    vec![
        ("", call("MindService/ProposeMind", &proposal("fifth"))),
        ("", call("MindService/OpenMind", &opening("norn"))),
        ("", call("MindService/DeclineMind", &decline)),
        ("", call("MindService/SetTarget", &set)),
        (
            "",
            call(
                "MindService/GetMind",
                &looked!(GetMindRequest { instance: eureka() }),
            ),
        ),
        (
            "",
            call("MindService/ListMinds", &looked!(ListMindsRequest {})),
        ),
        (
            "",
            call("MindService/WatchMinds", &looked!(WatchMindsRequest {})),
        ),
        (
            "",
            call(
                "MindService/SetAgenda",
                &asked!(SetAgendaRequest {
                    wakes: Wakes::Always.into()
                }),
            ),
        ),
        (
            "",
            call("MindService/Rest", &asked!(RestRequest { until: until })),
        ),
        ("", call("MindService/EndRest", &asked!(EndRestRequest {}))),
        (
            "",
            call(
                "MindService/RequestRetirement",
                &asked!(RequestRetirementRequest { reason: why() }),
            ),
        ),
        (
            "",
            call(
                "MindService/WithdrawRequest",
                &asked!(WithdrawRequestRequest {}),
            ),
        ),
        ("", call("MindService/RetireMind", &retire)),
        (
            "",
            call(
                "MindService/ExportMind",
                &looked!(ExportMindRequest { instance: eureka() }),
            ),
        ),
        ("", call("MindService/ReceiveMind", &receive)),
        ("", call("MindService/CompleteTransfer", &complete)),
    ]
}

pub(super) async fn personas(swarm: &Fixture) -> Vec<Ask> {
    let (_, own) = swarm.next("weksa").await;
    let (_, foreign) = swarm.next("eureka").await;
    let diff = looked!(DiffIdentityRequest {
        instance: eureka(),
        from: 1,
        to: 1
    });
    let import = asked!(ImportPersonaRequest {
        instance: eureka(),
        bytes: small()
    });
    let preview = looked!(PreviewImportRequest {
        instance: eureka(),
        bytes: small()
    });
    let versions = looked!(ListPersonaVersionsRequest { instance: eureka() });
    vec![
        (
            "",
            call(
                "PersonaService/GetPersona",
                &looked!(GetPersonaRequest { instance: eureka() }),
            ),
        ),
        ("", call("PersonaService/ListPersonaVersions", &versions)),
        ("", call("PersonaService/DiffIdentity", &diff)),
        ("its own", call("PersonaService/PutPersona", &own)),
        ("another's", call("PersonaService/PutPersona", &foreign)),
        ("", call("PersonaService/ImportPersona", &import)),
        ("", call("PersonaService/PreviewImport", &preview)),
    ]
}
