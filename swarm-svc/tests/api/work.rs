//! Work: who gets it, and what becomes of it.

use cambium_proto::swarm::v1::{
    AssignWorkRequest, CompleteWorkRequest, ListWorkRequest, Organ, ReturnWorkRequest,
    SubmitWorkRequest, WithdrawWorkRequest, Work, WorkState,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, field, reason, request_id, start};

pub(crate) fn work(to: &str) -> SubmitWorkRequest {
    SubmitWorkRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        title: "Mend the fence".to_owned(),
        body: "It leans.".to_owned(),
        refs: Vec::new(),
        to: to.to_owned(),
    }
}

impl Fixture {
    /// By the operator, to a mind or to nobody in particular.
    pub(crate) async fn submit(&self, to: &str) -> Work {
        let submitted = self.routing().submit_work(work(to)).await.unwrap();
        submitted.into_inner().work.unwrap()
    }

    pub(crate) async fn all_work(&self) -> Vec<Work> {
        let request = ListWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            ..ListWorkRequest::default()
        };
        let listed = self.routing().list_work(request).await.unwrap();
        listed.into_inner().work
    }

    /// As it stands now.
    pub(crate) async fn work(&self, id: &str) -> Work {
        let all = self.all_work().await;
        all.into_iter().find(|work| work.work_id == id).unwrap()
    }

    pub(crate) async fn give_back(&self, token: &str, id: &str) -> Result<Work, Status> {
        let request = ReturnWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: id.to_owned(),
            reason: "Not mine.".to_owned(),
        };
        let returned = self.routing_bearing(token).return_work(request).await?;
        Ok(returned.into_inner().work.unwrap())
    }

    async fn complete(&self, token: &str, id: &str) -> Result<Work, Status> {
        let request = CompleteWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: id.to_owned(),
            result_ref: "commit 1".to_owned(),
        };
        let done = self.routing_bearing(token).complete_work(request).await?;
        Ok(done.into_inner().work.unwrap())
    }

    async fn take_back(&self, token: &str, id: &str) -> Result<Work, Status> {
        let request = WithdrawWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: id.to_owned(),
        };
        let withdrawn = self.routing_bearing(token).withdraw_work(request).await?;
        Ok(withdrawn.into_inner().work.unwrap())
    }

    async fn assign(&self, id: &str, to: &str) -> Result<Work, Status> {
        let request = AssignWorkRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: id.to_owned(),
            to: to.to_owned(),
        };
        let assigned = self.routing().assign_work(request).await?;
        Ok(assigned.into_inner().work.unwrap())
    }
}

#[tokio::test]
async fn addressed_work_is_held_and_wakes_whom_it_is_to() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.advance(TimeDelta::minutes(1)).await;

    let held = swarm.submit("weksa").await;
    let unrouted = swarm.submit("").await;
    let nobody = swarm.routing().submit_work(work("nobody")).await;
    let blank = SubmitWorkRequest {
        title: "---".to_owned(),
        ..work("weksa")
    };
    let blank = swarm.routing().submit_work(blank).await.unwrap_err();

    assert_eq!(
        (held.state(), held.holder.as_str()),
        (WorkState::Held, "weksa")
    );
    assert!(held.addressed);
    assert!(swarm.is_told("weksa").await);
    assert_eq!(
        (unrouted.state(), unrouted.holder.as_str()),
        (WorkState::Unrouted, "")
    );
    assert_eq!(nobody.unwrap_err().code(), Code::NotFound);
    assert_eq!(field(&blank), "title");
    assert_eq!(swarm.all_work().await, [held, unrouted]);
}

#[tokio::test]
async fn only_its_holder_finishes_work_and_only_once() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let held = swarm.submit("weksa").await;

    let foreign = swarm.complete(&eureka, &held.work_id).await.unwrap_err();
    let done = swarm.complete(&weksa, &held.work_id).await.unwrap();
    let again = swarm.complete(&weksa, &held.work_id).await.unwrap_err();

    assert_eq!(foreign.code(), Code::PermissionDenied);
    assert_eq!(
        (done.state(), done.done_ref.as_str()),
        (WorkState::Done, "commit 1")
    );
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert_eq!(reason(&again), "NOTHING_HELD");
    assert_eq!(swarm.work(&held.work_id).await, done);
}

#[tokio::test]
async fn whoever_submitted_work_may_withdraw_it_and_so_may_the_operator() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let agent = swarm.keys.agent("a1");
    let by = async |token: &str| {
        let submitted = swarm
            .routing_bearing(token)
            .submit_work(work("eureka"))
            .await;
        submitted.unwrap().into_inner().work.unwrap().work_id
    };
    let (by_weksa, by_agent, other) = (by(&weksa).await, by(&agent).await, by(&weksa).await);

    let foreign = swarm.take_back(&eureka, &by_weksa).await.unwrap_err();
    assert_eq!(foreign.code(), Code::PermissionDenied);
    let foreign = swarm.take_back(&agent, &by_weksa).await.unwrap_err();
    assert_eq!(foreign.code(), Code::PermissionDenied);
    for (token, id) in [
        (&weksa, by_weksa),
        (&agent, by_agent),
        (&swarm.keys.operator(), other),
    ] {
        let withdrawn = swarm.take_back(token, &id).await.unwrap();
        assert_eq!(withdrawn.state(), WorkState::Withdrawn);
        assert_eq!(withdrawn.holder, "");
    }
}

#[tokio::test]
async fn work_given_back_without_a_lead_waits_until_it_is_assigned() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let held = swarm.submit("weksa").await;

    let returned = swarm.give_back(&weksa, &held.work_id).await.unwrap();
    swarm.advance(TimeDelta::minutes(1)).await;
    let assigned = swarm.assign(&held.work_id, "eureka").await.unwrap();
    let unknown = swarm.assign(&request_id(), "eureka").await.unwrap_err();

    assert_eq!(
        (returned.state(), returned.addressed),
        (WorkState::Unrouted, false)
    );
    assert_eq!(returned.returned_by, "weksa");
    assert_eq!(
        (assigned.state(), assigned.holder.as_str()),
        (WorkState::Held, "eureka")
    );
    assert!(assigned.addressed);
    assert!(swarm.is_told("eureka").await && !swarm.is_told("weksa").await);
    assert_eq!(unknown.code(), Code::NotFound);
}
