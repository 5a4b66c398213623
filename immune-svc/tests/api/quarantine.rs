//! Quarantine: its beginning, its end, and its lengths.

use std::time::Duration;

use cambium_proto::immune::v1::{ListQuarantinesRequest, Quarantine, ScoreKind};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use prost_types::Duration as Length;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, adjustment, back, field, out, reason};
use crate::told::{agents, retired, spawned};

const BOUND: Duration = Duration::from_secs(10);

async fn list(fixture: &Fixture, include_ended: bool) -> Vec<Quarantine> {
    let request = ListQuarantinesRequest {
        workspace_id: "default".to_owned(),
        include_ended,
        ..ListQuarantinesRequest::default()
    };
    let reply = fixture.quarantines().list_quarantines(request).await;
    reply.unwrap().into_inner().quarantines
}

/// One who shares nothing, so that no cap stands in the way.
async fn hermit(fixture: &Fixture) -> Uuid {
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &[])]).await;
    ada
}

fn length(one: &Quarantine) -> i64 {
    one.end_time.unwrap().seconds - one.start_time.unwrap().seconds
}

#[tokio::test]
async fn an_operator_takes_an_agent_out_for_ten_minutes() {
    let fixture = fixture::start().await;
    let ada = hermit(&fixture).await;

    let one = fixture.quarantine(ada).await.unwrap().quarantine.unwrap();

    assert_eq!(length(&one), 600);
    assert_eq!((one.actor.as_str(), one.count), ("operator:ada", 1));
    assert!(one.active && !one.over_cap);
    let standing = fixture.standing(ada).await;
    assert!(fixture.is_out(ada).await);
    assert_eq!(standing.quarantine_end_time, one.end_time);
    assert_eq!(standing.quarantine_reason, "it went astray");
    assert_eq!(list(&fixture, false).await, [one]);
}

#[tokio::test]
async fn it_ends_by_itself_on_trial_and_lasts_twice_as_long_the_next_time() {
    let fixture = fixture::start().await;
    let ada = hermit(&fixture).await;
    let word = adjustment(ada, 0.4);
    fixture.standings().adjust_trust(word).await.unwrap();

    let mut lengths = Vec::new();
    for _ in 0..9 {
        let one = fixture.quarantine(ada).await.unwrap().quarantine.unwrap();
        lengths.push(length(&one) / 60);
        fixture
            .database
            .advance(TimeDelta::seconds(length(&one)))
            .await;
        wait_until(BOUND, "it is back", async || !fixture.is_out(ada).await).await;
    }

    assert_eq!(lengths, [10, 20, 40, 80, 160, 320, 640, 1_280, 1_440]);
    let ledger = fixture.ledger(ada, ScoreKind::Trust).await;
    assert_eq!(ledger[1].event, "trial_return");
    assert_eq!((ledger[1].before, ledger[1].after), (0.9, 0.3));
    assert_eq!(ledger.len(), 10);
    let ended = list(&fixture, true).await;
    assert!(list(&fixture, false).await.is_empty());
    assert_eq!(ended.len(), 9);
    assert_eq!(ended[0].count, 9);
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn an_operator_lets_back_in_without_loss_of_trust() {
    let fixture = fixture::start().await;
    let ada = hermit(&fixture).await;
    fixture.quarantine(ada).await.unwrap();
    let wish = back(ada);

    let mut operator = fixture.quarantines();
    let first = operator.release_quarantine(wish.clone()).await.unwrap();
    let again = operator.release_quarantine(wish).await.unwrap();
    let nothing = operator.release_quarantine(back(ada)).await.unwrap();

    let first = first.into_inner();
    assert_eq!(again.into_inner(), first);
    let one = first.quarantine.unwrap();
    assert!(!one.active);
    assert_eq!(one.release_reason, "operator:ada: it was us");
    assert_eq!(nothing.into_inner().quarantine, None);
    assert!(!fixture.is_out(ada).await);
    assert_eq!(fixture.standing(ada).await.trust, 0.5);
}

#[tokio::test]
async fn it_can_be_made_longer_and_never_shorter() {
    let fixture = fixture::start().await;
    let ada = hermit(&fixture).await;
    let lasting = |seconds| {
        let mut wish = out(ada);
        wish.duration = Some(Length { seconds, nanos: 0 });
        wish
    };
    let mut operator = fixture.quarantines();

    let mut ends = Vec::new();
    for seconds in [600, 3_600, 60] {
        let reply = operator.quarantine_agent(lasting(seconds)).await.unwrap();
        let one = reply.into_inner().quarantine.unwrap();
        assert_eq!(one.count, 1);
        ends.push(one.end_time.unwrap().seconds);
    }

    assert!(ends[1] >= ends[0] + 3_000);
    assert_eq!(ends[2], ends[1]);
    let [one] = list(&fixture, true).await.try_into().unwrap();
    assert_eq!(one.reason, "it went astray; operator:ada: it went astray");
}

#[tokio::test]
async fn what_says_no_reason_or_no_length_is_refused() {
    let fixture = fixture::start().await;
    let ada = hermit(&fixture).await;
    let [stranger, gone] = agents();
    fixture
        .deliver(&[spawned(gone, "gone", &[]), retired(gone, false)])
        .await;
    let before = fixture.everything().await;
    let mut operator = fixture.quarantines();

    for why in ["", " \n ", &"x".repeat(501)] {
        let mut wish = out(ada);
        wish.reason = why.to_owned();
        let refused = operator.quarantine_agent(wish).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, "reason")
        );
        let mut wish = back(ada);
        wish.reason = why.to_owned();
        let refused = operator.release_quarantine(wish).await.unwrap_err();
        assert_eq!(field(&refused), "reason");
    }
    for (seconds, nanos) in [
        (0, 999_999_999),
        (-5, 0),
        (2_592_001, 0),
        (i64::MAX, 0),
        (5, -1),
    ] {
        let mut wish = out(ada);
        wish.duration = Some(Length { seconds, nanos });
        let refused = operator.quarantine_agent(wish).await.unwrap_err();
        assert_eq!(field(&refused), "duration");
    }
    let unknown = operator.quarantine_agent(out(stranger)).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let unknown = operator
        .release_quarantine(back(stranger))
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let closed = operator.quarantine_agent(out(gone)).await.unwrap_err();
    assert_eq!(
        (closed.code(), reason(&closed).as_str()),
        (Code::FailedPrecondition, "AGENT_RETIRED")
    );

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn pages_of_quarantines_go_from_the_newest_to_the_oldest() {
    let fixture = fixture::start().await;
    let [ada, bob, cy] = agents();
    for (agent, name) in [(ada, "ada"), (bob, "bob"), (cy, "cy")] {
        fixture.deliver(&[spawned(agent, name, &[])]).await;
        fixture.quarantine(agent).await.unwrap();
    }
    let mut operator = fixture.quarantines();

    let mut names = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListQuarantinesRequest {
            workspace_id: "default".to_owned(),
            page_size: 1,
            page_token: token,
            include_ended: false,
        };
        let page = operator
            .list_quarantines(request)
            .await
            .unwrap()
            .into_inner();
        names.extend(page.quarantines.into_iter().map(|one| one.agent_name));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    assert_eq!(names, ["cy", "bob", "ada"]);
}
