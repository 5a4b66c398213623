//! Alerts: numbered without gaps, acknowledged once.

use cambium_proto::immune::v1::{AcknowledgeAlertRequest, Alert, ListAlertsRequest};
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, field, reason};
use crate::told::{agents, settled};
use cambium_proto::signal::v1::TaskOutcome;

/// Raises an alert about somebody.
pub(crate) async fn raise(fixture: &Fixture) {
    let [agent] = agents();
    let stale: Vec<_> = (0..3).map(|_| settled(agent, TaskOutcome::Stale)).collect();
    fixture.deliver(&stale).await;
}

fn acknowledgement(alert_id: &str) -> AcknowledgeAlertRequest {
    AcknowledgeAlertRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        alert_id: alert_id.to_owned(),
    }
}

async fn open(fixture: &Fixture) -> Vec<Alert> {
    let request = ListAlertsRequest {
        workspace_id: "default".to_owned(),
        ..ListAlertsRequest::default()
    };
    let reply = fixture.alerts().list_alerts(request).await.unwrap();
    reply.into_inner().alerts
}

#[tokio::test]
async fn alerts_raised_at_once_are_numbered_without_gaps() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;

    let calls: Vec<_> = (0..12)
        .map(|n| {
            let party = if n % 2 == 0 {
                (*fixture).clone()
            } else {
                replica.clone()
            };
            tokio::spawn(async move {
                let [agent] = agents();
                let stale: Vec<_> = (0..3).map(|_| settled(agent, TaskOutcome::Stale)).collect();
                party.deliver(&stale).await;
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }

    let seqs: Vec<i64> = open(&fixture).await.iter().map(|alert| alert.seq).collect();
    assert_eq!(seqs, (1..=12).rev().collect::<Vec<i64>>());
}

#[tokio::test]
async fn whoever_looked_first_stays() {
    let fixture = fixture::start().await;
    raise(&fixture).await;
    raise(&fixture).await;
    let [_, first] = open(&fixture).await.try_into().unwrap();
    let mut ada = fixture.alerts();
    let mut bob = fixture.alerts_as(&fixture.keys.operator_of(&["default"]));

    let once = ada
        .acknowledge_alert(acknowledgement(&first.alert_id))
        .await
        .unwrap();
    let twice = bob
        .acknowledge_alert(acknowledgement(&first.alert_id))
        .await
        .unwrap();

    let once = once.into_inner().alert.unwrap();
    assert_eq!(once.acknowledged_by, "operator:ada");
    assert_eq!(twice.into_inner().alert.unwrap(), once);
    let left: Vec<i64> = open(&fixture).await.iter().map(|alert| alert.seq).collect();
    assert_eq!(left, [2]);
    assert_eq!(fixture.all_alerts().await.len(), 2);
}

#[tokio::test]
async fn an_alert_that_is_not_there_is_not_acknowledged() {
    let fixture = fixture::start().await;
    raise(&fixture).await;
    let [alert] = open(&fixture).await.try_into().unwrap();
    let before = fixture.everything().await;
    let mut operator = fixture.alerts();

    let unknown = acknowledgement(&Uuid::now_v7().to_string());
    let unknown = operator.acknowledge_alert(unknown).await.unwrap_err();
    let nonsense = operator
        .acknowledge_alert(acknowledgement("seven"))
        .await
        .unwrap_err();
    let mut elsewhere = acknowledgement(&alert.alert_id);
    elsewhere.workspace_id = "north".to_owned();
    let elsewhere = operator.acknowledge_alert(elsewhere).await.unwrap_err();

    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::NotFound, "ALERT_UNKNOWN")
    );
    assert_eq!(field(&nonsense), "alert_id");
    assert_eq!(elsewhere.code(), Code::NotFound);
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn pages_of_alerts_go_from_the_newest_to_the_oldest() {
    let fixture = fixture::start().await;
    for _ in 0..5 {
        raise(&fixture).await;
    }

    let mut seqs = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListAlertsRequest {
            workspace_id: "default".to_owned(),
            page_size: 2,
            page_token: token,
            include_acknowledged: false,
        };
        let page = fixture
            .alerts()
            .list_alerts(request)
            .await
            .unwrap()
            .into_inner();
        seqs.extend(page.alerts.iter().map(|alert| alert.seq));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    assert_eq!(seqs, [5, 4, 3, 2, 1]);
}
