//! Work, areas and who leads.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::Organ;

use super::{Ask, eureka, looked, why};
use crate::authority::calls::asked;
use crate::authority::raw::call;
use crate::authority::stage::OTHER;
use crate::fixture::{Fixture, WORKSPACE, request_id};
use crate::work::work;

/// Work of weksa's own, and of another mind.
pub(super) async fn routing(swarm: &Fixture, token: &str) -> Vec<Ask> {
    let mut held = Vec::new();
    for to in ["weksa", "weksa", "weksa", "eureka", ""] {
        held.push(swarm.submit(to).await.work_id);
    }
    let [done, back, given, foreign, unaddressed] = held.try_into().unwrap();
    let mut as_weksa = swarm.routing_bearing(token);
    let sent = as_weksa.submit_work(work("eureka")).await;
    let sent = sent.unwrap().into_inner().work.unwrap().work_id;
    swarm.take(OTHER, "the docs").await.unwrap();
    let other = swarm.operate(OTHER, Organ::Self_).await;
    let offer = swarm
        .offer(&other, ("", "the docs"), "weksa")
        .await
        .unwrap();
    swarm.end_session_with(OTHER).await;

    let complete = |id: &str| {
        asked!(CompleteWorkRequest {
            work_id: id.to_owned()
        })
    };
    let give_back = |id: &str| {
        asked!(ReturnWorkRequest {
            work_id: id.to_owned(),
            reason: why()
        })
    };
    let withdraw = |id: &str| {
        asked!(WithdrawWorkRequest {
            work_id: id.to_owned()
        })
    };
    let give = |id: &str| {
        asked!(OfferHandOffRequest {
            work_id: id.to_owned(),
            to: OTHER.to_owned(),
            reason: why()
        })
    };
    let route = |id: &str| {
        asked!(RouteWorkRequest {
            work_id: id.to_owned(),
            to: eureka(),
            reason: why()
        })
    };
    let assign = asked!(AssignWorkRequest {
        work_id: foreign.clone(),
        to: "weksa".to_owned()
    });
    let area = asked!(TakeStewardshipRequest {
        instance: "weksa".to_owned(),
        area: "the moon".to_owned(),
        note: why(),
    });
    let answer = asked!(AnswerHandOffRequest {
        giver: OTHER.to_owned(),
        id: offer,
        accept: true
    });
    vec![
        ("", call("RoutingService/SubmitWork", &work("eureka"))),
        (
            "its own",
            call("RoutingService/WithdrawWork", &withdraw(&sent)),
        ),
        (
            "another's",
            call("RoutingService/WithdrawWork", &withdraw(&foreign)),
        ),
        ("", call("RoutingService/AssignWork", &assign)),
        ("", call("RoutingService/TakeStewardship", &area)),
        (
            "to itself",
            call("RoutingService/MoveLead", &crate::lead::to("weksa")),
        ),
        (
            "to another",
            call("RoutingService/MoveLead", &crate::lead::to("eureka")),
        ),
        (
            "addressed",
            call("RoutingService/RouteWork", &route(&given)),
        ),
        (
            "another's",
            call("RoutingService/RouteWork", &route(&foreign)),
        ),
        (
            "its own",
            call("RoutingService/OfferHandOff", &give(&given)),
        ),
        (
            "another's",
            call("RoutingService/OfferHandOff", &give(&foreign)),
        ),
        (
            "unaddressed",
            call("RoutingService/RouteWork", &route(&unaddressed)),
        ),
        ("", call("RoutingService/AnswerHandOff", &answer)),
        (
            "its own",
            call("RoutingService/ReturnWork", &give_back(&back)),
        ),
        (
            "another's",
            call("RoutingService/ReturnWork", &give_back(&foreign)),
        ),
        (
            "its own",
            call("RoutingService/CompleteWork", &complete(&done)),
        ),
        (
            "another's",
            call("RoutingService/CompleteWork", &complete(&foreign)),
        ),
        (
            "",
            call("RoutingService/GetLead", &looked!(GetLeadRequest {})),
        ),
        (
            "",
            call("RoutingService/ListWork", &looked!(ListWorkRequest {})),
        ),
    ]
}
