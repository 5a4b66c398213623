//! Offers and their answers: everything moves, or nothing does.

use std::net::SocketAddr;
use std::time::Duration;

use cambium_proto::swarm::v1::{
    AnswerHandOffRequest, DocumentName, OfferHandOffRequest, Organ, TakeStewardshipRequest,
    WorkState,
};
use cambium_service_kit::config::Secret;
use cambium_service_kit::shutdown::Stop;
use chrono::TimeDelta;
use swarm_svc::Config;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, field, reason, request_id, start};

impl Fixture {
    pub(crate) async fn offer(
        &self,
        token: &str,
        (work, area): (&str, &str),
        to: &str,
    ) -> Result<String, Status> {
        let request = OfferHandOffRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            work_id: work.to_owned(),
            area: area.to_owned(),
            to: to.to_owned(),
            refs: Vec::new(),
            reason: "It is nearer to you.".to_owned(),
        };
        let offered = self.routing_bearing(token).offer_hand_off(request).await?;
        Ok(offered.into_inner().offer.unwrap().id)
    }

    pub(crate) async fn answer(
        &self,
        token: &str,
        offer: &str,
        accept: bool,
    ) -> Result<Vec<DocumentName>, Status> {
        let request = AnswerHandOffRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            giver: offer.split(':').next().unwrap().to_owned(),
            id: offer.to_owned(),
            accept,
            reason: String::new(),
        };
        let answered = self.routing_bearing(token).answer_hand_off(request).await?;
        Ok(answered.into_inner().written)
    }

    pub(crate) async fn take(&self, mind: &str, area: &str) -> Result<String, Status> {
        let request = TakeStewardshipRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            area: area.to_owned(),
            note: "From now on.".to_owned(),
        };
        let taken = self.routing().take_stewardship(request).await?;
        Ok(taken.into_inner().document.unwrap().id)
    }

    pub(crate) async fn steward(&self, area: &str) -> Vec<String> {
        let steward = sqlx::query_scalar("SELECT instance FROM swarm.steward WHERE area = $1");
        let steward = steward.bind(area).fetch_all(&self.database.owner);
        steward.await.unwrap()
    }

    /// Three open minds, with a token of each.
    async fn three(&self) -> [String; 3] {
        let mut tokens = Vec::new();
        for mind in ["weksa", "eureka", "third"] {
            self.open(mind, 1_000_000).await;
            tokens.push(self.operate(mind, Organ::Self_).await);
        }
        tokens.try_into().unwrap()
    }
}

#[tokio::test]
async fn work_moves_when_the_receiver_accepts_and_not_before() {
    let swarm = start().await;
    let [weksa, eureka, third] = swarm.three().await;
    let work = swarm.submit("weksa").await.work_id;
    swarm.advance(TimeDelta::minutes(1)).await;

    let foreign = swarm
        .offer(&eureka, (&work, ""), "third")
        .await
        .unwrap_err();
    assert_eq!(foreign.code(), Code::PermissionDenied);
    let offer = swarm.offer(&weksa, (&work, ""), "eureka").await.unwrap();
    assert!(swarm.is_told("eureka").await);
    let offered = swarm.work(&work).await;
    assert_eq!(
        (offered.state(), offered.holder.as_str()),
        (WorkState::Offered, "weksa")
    );
    assert_eq!(offered.offered_to, "eureka");

    swarm.advance(TimeDelta::minutes(1)).await;
    let foreign = swarm.answer(&third, &offer, true).await.unwrap_err();
    assert_eq!(foreign.code(), Code::PermissionDenied);
    let written = swarm.answer(&eureka, &offer, true).await.unwrap();

    assert!(swarm.is_told("weksa").await);
    let held = swarm.work(&work).await;
    assert_eq!(
        (held.state(), held.holder.as_str()),
        (WorkState::Held, "eureka")
    );
    let (given, copy) = (
        swarm.document(&offer).await,
        swarm.document(&written[0].id).await,
    );
    assert_eq!(copy.holder, "eureka");
    assert_eq!(copy.payload, given.payload);
    let again = swarm.answer(&eureka, &offer, false).await.unwrap_err();
    assert_eq!(reason(&again), "OFFER_OVER");
}

#[tokio::test]
async fn an_offer_declined_or_replaced_is_over_and_nothing_has_moved() {
    let swarm = start().await;
    let [weksa, eureka, third] = swarm.three().await;
    let work = swarm.submit("weksa").await.work_id;

    let declined = swarm.offer(&weksa, (&work, ""), "eureka").await.unwrap();
    swarm.answer(&eureka, &declined, false).await.unwrap();
    let held = swarm.work(&work).await;
    assert_eq!(
        (held.state(), held.holder.as_str()),
        (WorkState::Held, "weksa")
    );
    assert!(!swarm.document(&declined).await.in_force);

    let replaced = swarm.offer(&weksa, (&work, ""), "eureka").await.unwrap();
    let last = swarm.offer(&weksa, (&work, ""), "third").await.unwrap();
    let over = swarm.answer(&eureka, &replaced, true).await.unwrap_err();
    assert_eq!(reason(&over), "OFFER_OVER");
    let unknown = swarm.answer(&eureka, "weksa:hand_off:no", true).await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);
    swarm.answer(&third, &last, true).await.unwrap();
    assert_eq!(swarm.work(&work).await.holder, "third");
}

#[tokio::test]
async fn an_area_has_one_steward_who_alone_gives_it() {
    let swarm = start().await;
    let [weksa, eureka, third] = swarm.three().await;
    let first = swarm.take("weksa", "the docs").await.unwrap();

    let twice = swarm.take("eureka", "the docs").await.unwrap_err();
    assert_eq!(twice.code(), Code::FailedPrecondition);
    let foreign = swarm.offer(&eureka, ("", "the docs"), "third").await;
    assert_eq!(foreign.unwrap_err().code(), Code::PermissionDenied);
    let nothing = swarm
        .offer(&eureka, ("", "the moon"), "third")
        .await
        .unwrap_err();
    assert_eq!(reason(&nothing), "NOTHING_HELD");
    let both = swarm
        .offer(&weksa, (&request_id(), "the docs"), "third")
        .await;
    assert_eq!(field(&both.unwrap_err()), "area");

    let offer = swarm
        .offer(&weksa, ("", "the docs"), "eureka")
        .await
        .unwrap();
    let other = swarm
        .offer(&weksa, ("", "the docs"), "third")
        .await
        .unwrap();
    assert_eq!(swarm.steward("the docs").await, ["weksa"]);
    let written = swarm.answer(&eureka, &offer, true).await.unwrap();

    assert_eq!(written.len(), 3);
    assert_eq!(swarm.steward("the docs").await, ["eureka"]);
    assert!(!swarm.document(&first).await.in_force);
    let gone = swarm.answer(&third, &other, true).await.unwrap_err();
    assert_eq!(reason(&gone), "OFFER_OVER");
    assert_eq!(swarm.steward("the docs").await, ["eureka"]);
}

#[tokio::test]
async fn an_offer_that_nobody_answers_for_7_days_is_withdrawn() {
    let swarm = start().await;
    let [weksa, ..] = swarm.three().await;
    let work = swarm.submit("weksa").await.work_id;
    let offer = swarm.offer(&weksa, (&work, ""), "eureka").await.unwrap();

    swarm.advance(TimeDelta::days(7)).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let late = swarm.answer(&eureka, &offer, true).await.unwrap_err();
    assert_eq!(reason(&late), "OFFER_OVER");
    assert!(swarm.document(&offer).await.in_force);
    // Two replicas look at once.
    let stops = [Stop::new(), Stop::new()];
    for stop in &stops {
        let looking = swarm_svc::build(looking(&swarm), stop.clone()).await;
        drop(looking.unwrap());
    }
    while swarm.document(&offer).await.in_force {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stops.iter().for_each(Stop::stop);

    let held = swarm.work(&work).await;
    assert_eq!(
        (held.state(), held.holder.as_str()),
        (WorkState::Held, "weksa")
    );
    let over = format!("{offer}.n1");
    assert_eq!(swarm.document(&over).await.author, "service:swarm");
}

/// A replica whose loops run.
fn looking(swarm: &Fixture) -> Config {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(swarm.database.url.as_str()),
        connections: 4,
        key: swarm.keys.swarm(),
        credentials: swarm.keys.credentials("swarm"),
        bundle: swarm.keys.bundle(),
        hypha: None,
        pulse: Some(Duration::from_millis(5)),
    }
}
