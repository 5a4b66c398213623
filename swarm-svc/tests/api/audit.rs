//! The audit: every change, and every refusal of one who may not.

use cambium_proto::swarm::v1::watch_audit_response::Item;
use cambium_proto::swarm::v1::{
    ListAuditRequest, ListAuditResponse, SetDialRequest, WatchAuditRequest,
};
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, reason, start};

async fn audit(
    swarm: &Fixture,
    token: &str,
    size: i32,
    after: &str,
) -> Result<ListAuditResponse, Status> {
    let request = ListAuditRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: size,
        page_token: after.to_owned(),
    };
    let reply = swarm.control_bearing(token).list_audit(request).await?;
    Ok(reply.into_inner())
}

async fn watched(
    swarm: &Fixture,
    after_seq: i64,
) -> Result<tonic::Streaming<cambium_proto::swarm::v1::WatchAuditResponse>, Status> {
    let request = WatchAuditRequest {
        workspace_id: WORKSPACE.to_owned(),
        after_seq,
    };
    Ok(swarm.control().watch_audit(request).await?.into_inner())
}

#[tokio::test]
async fn changes_are_listed_newest_first_in_pages() {
    let swarm = start().await;
    let operator = swarm.keys.operator();
    for k in 1..4 {
        swarm
            .dial(SetDialRequest {
                k,
                ..ordinary_dial()
            })
            .await;
    }

    let first = audit(&swarm, &operator, 2, "").await.unwrap();
    let rest = audit(&swarm, &operator, 2, &first.next_page_token)
        .await
        .unwrap();

    let seqs: Vec<i64> = first
        .entries
        .iter()
        .chain(&rest.entries)
        .map(|entry| entry.seq)
        .collect();
    assert_eq!(seqs, [3, 2, 1]);
    let newest = &first.entries[0];
    assert_eq!(
        (newest.actor.as_str(), newest.action.as_str()),
        ("operator:ada", "SetDial")
    );
    assert!(newest.allowed && newest.reason.is_empty());
    let body: serde_json::Value = serde_json::from_slice(&newest.body).unwrap();
    assert_eq!(body["k"], 3);
    let viewer = audit(&swarm, &swarm.keys.viewer(), 0, "")
        .await
        .unwrap_err();
    assert_eq!(viewer.code(), Code::PermissionDenied);
    let bad = audit(&swarm, &operator, 0, "x").await.unwrap_err();
    assert_eq!(field(&bad), "page_token");
}

#[tokio::test]
async fn the_audit_is_followed_from_any_place_that_is_kept() {
    let swarm = start().await;
    for k in 1..4 {
        swarm
            .dial(SetDialRequest {
                k,
                ..ordinary_dial()
            })
            .await;
    }

    let mut stream = watched(&swarm, 1).await.unwrap();
    swarm.dial(ordinary_dial()).await;
    for seq in 2..5 {
        let item = stream.message().await.unwrap().unwrap().item.unwrap();
        assert!(matches!(item, Item::Entry(entry) if entry.seq == seq));
    }

    let forget = sqlx::query("DELETE FROM swarm.audit WHERE seq < 3");
    forget.execute(&swarm.database.owner).await.unwrap();
    let old = watched(&swarm, 1).await.unwrap_err();
    assert_eq!(
        (old.code(), reason(&old)),
        (Code::OutOfRange, "CURSOR_TOO_OLD".to_owned())
    );
    let below = watched(&swarm, -1).await.unwrap_err();
    assert_eq!(field(&below), "after_seq");
    watched(&swarm, 2).await.unwrap();
}
