//! The lead has no more rights than any mind, but for unaddressed work and for questions between minds: every method of the contract is
//! asked by the same mind in two swarms that differ in who leads.

use std::collections::{BTreeMap, BTreeSet};

use cambium_proto::swarm::v1::Organ;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use tonic::{Code, Status};

use super::asks::asks;
use super::stage::OTHER;
use crate::fixture::{Fixture, ordinary_dial, start};
use crate::lead::to;
use crate::minds::proposal;

/// What a call is about where its method alone does not say it, and how it was answered.
type Answers = BTreeMap<String, Code>;

/// The contract of swarm's services.
fn contract() -> Vec<FileDescriptorProto> {
    let set = FileDescriptorSet::decode(cambium_proto::DESCRIPTOR_SET).unwrap();
    let files = set.file.into_iter();
    files
        .filter(|file| file.package() == "cambium.swarm.v1")
        .collect()
}

fn methods() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for file in contract() {
        for service in &file.service {
            let path = |method: &str| format!("/cambium.swarm.v1.{}/{method}", service.name());
            paths.extend(service.method.iter().map(|one| path(one.name())));
        }
    }
    paths
}

/// The fields that a request has.
fn fields(message: &str) -> Vec<String> {
    let files = contract();
    let mut messages = files.iter().flat_map(|file| &file.message_type);
    let found = messages.find(|one| one.name() == message).unwrap();
    let names = found.field.iter().map(|field| field.name().to_owned());
    names.collect()
}

/// Three minds, of whom this one leads, and a fourth that is proposed.
async fn led_by(lead: &str) -> Fixture {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    for mind in ["weksa", "eureka", OTHER] {
        swarm.bear_whole(mind).await;
    }
    let proposed = proposal("norn");
    swarm.minds().propose_mind(proposed).await.unwrap();
    swarm.routing().move_lead(to(lead)).await.unwrap();
    swarm.rules("eureka").await;
    swarm
}

/// How each method answers weksa, and which methods these were.
async fn answers(lead: &str, organ: Organ) -> (Answers, BTreeSet<String>) {
    let swarm = led_by(lead).await;
    let turn = swarm.turn_of("eureka").await;
    let token = swarm.operate("weksa", organ).await;
    let (mut answers, mut asked) = (Answers::new(), BTreeSet::new());
    for (about, call) in asks(&swarm, &token, lead, &turn).await {
        let answer = swarm.send(Some(&token), &call).await;
        let code = answer.err().as_ref().map_or(Code::Ok, Status::code);
        answers.insert(format!("{} {about}", call.path), code);
        asked.insert(call.path);
    }
    (answers, asked)
}

#[tokio::test]
async fn the_lead_is_answered_as_any_mind_is() {
    for organ in [Organ::Persona, Organ::Self_] {
        let (of_lead, asked) = answers("weksa", organ).await;
        let (of_other, _) = answers(OTHER, organ).await;

        assert_eq!(asked, methods());
        let keys: BTreeSet<&String> = of_lead.keys().collect();
        assert_eq!(keys, of_other.keys().collect());
        assert_eq!(at_fault(&of_lead), at_fault(&of_other));
        assert_eq!(at_fault(&of_lead), [] as [&str; 0]);
        let more = |ask| (ask, Code::Ok, Code::PermissionDenied);
        assert_eq!(
            differing(&of_lead, &of_other),
            [
                more("/cambium.swarm.v1.RecordService/AppendRecord a question between minds"),
                more("/cambium.swarm.v1.RoutingService/RouteWork unaddressed"),
            ]
        );
    }
}

/// A request at fault would be refused to anybody, and prove nothing.
fn at_fault(answers: &Answers) -> Vec<&str> {
    let faults = answers
        .iter()
        .filter(|(_, code)| !matches!(code, Code::Ok | Code::PermissionDenied));
    faults.map(|(ask, _)| ask.as_str()).collect()
}

fn differing<'a>(of_lead: &'a Answers, of_other: &Answers) -> Vec<(&'a str, Code, Code)> {
    let both = of_lead
        .iter()
        .map(|(ask, code)| (ask.as_str(), *code, of_other[ask]));
    both.filter(|(_, lead, other)| lead != other).collect()
}

/// Two of the cases cannot be asked because of this.
#[test]
fn nobody_lends_or_asks_to_leave_in_anothers_name() {
    assert_eq!(
        fields("LendShareRequest"),
        [
            "workspace_id",
            "request_id",
            "borrower",
            "share_ppm",
            "until"
        ]
    );
    assert_eq!(
        fields("RequestRetirementRequest"),
        ["workspace_id", "request_id", "reason"]
    );
}
