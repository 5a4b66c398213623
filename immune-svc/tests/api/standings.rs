//! Standings: found, sorted, filtered, explained.

use cambium_proto::immune::v1::{
    Badge, ExplainStandingRequest, GetStandingRequest, ListStandingsRequest, ScoreKind,
};
use cambium_proto::signal::v1::TaskOutcome;
use chrono::TimeDelta;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, Fixture, adjustment, field, reason};
use crate::told::{agents, dead_end, enrolled, retired, settled, spawned, thanks};

fn named(name: &str) -> GetStandingRequest {
    GetStandingRequest {
        workspace_id: "default".to_owned(),
        agent_id: String::new(),
        name: name.to_owned(),
    }
}

/// The names of a whole list, page by page.
async fn names(fixture: &Fixture, request: ListStandingsRequest) -> Vec<String> {
    let mut names = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListStandingsRequest {
            workspace_id: "default".to_owned(),
            page_size: 2,
            page_token: token,
            ..request.clone()
        };
        let page = fixture.standings().list_standings(request).await.unwrap();
        let page = page.into_inner();
        names.extend(page.standings.into_iter().map(|standing| standing.name));
        token = page.next_page_token;
        if token.is_empty() {
            return names;
        }
    }
}

#[tokio::test]
async fn a_new_agent_is_in_the_middle_well_and_new() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;

    let standing = fixture.standing(ada).await;
    assert_eq!(
        (standing.trust, standing.generosity, standing.health),
        (0.5, 0.5, 1.0)
    );
    assert_eq!(standing.badges().collect::<Vec<_>>(), [Badge::New]);
    assert_eq!((standing.ledger_rows, standing.seq), (0, 1));
    let found = fixture
        .standings()
        .get_standing(named("ada"))
        .await
        .unwrap();
    assert_eq!(found.into_inner().standing, Some(standing));
}

#[tokio::test]
async fn a_name_is_the_livings_before_it_is_the_deads() {
    let fixture = fixture::start().await;
    let [first, second] = agents();
    fixture
        .deliver(&[
            spawned(first, "ada", &["write"]),
            retired(first, false),
            spawned(second, "ada", &["write"]),
        ])
        .await;

    let found = fixture
        .standings()
        .get_standing(named("ada"))
        .await
        .unwrap();

    let standing = found.into_inner().standing.unwrap();
    assert_eq!(standing.agent_id, second.to_string());
}

#[tokio::test]
async fn an_agent_is_named_in_one_way_and_must_be_there() {
    let fixture = fixture::start().await;
    let both = GetStandingRequest {
        agent_id: Uuid::now_v7().to_string(),
        ..named("ada")
    };
    let nonsense = GetStandingRequest {
        agent_id: "seven".to_owned(),
        ..named("")
    };
    let mut operator = fixture.standings();

    for (request, wrong) in [
        (both, "name"),
        (named(""), "agent_id"),
        (nonsense, "agent_id"),
    ] {
        let refused = operator.get_standing(request).await.unwrap_err();
        assert_eq!(field(&refused), wrong);
    }
    let unknown = operator.get_standing(named("ada")).await.unwrap_err();
    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::NotFound, "AGENT_UNKNOWN")
    );
}

#[tokio::test]
async fn lists_are_sorted_by_any_score_either_way() {
    let fixture = fixture::start().await;
    let [ada, bob, cy, dee] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &[]),
            spawned(bob, "bob", &[]),
            enrolled(cy, "cy"),
            spawned(dee, "dee", &[]),
            thanks(bob, ada),
            thanks(cy, ada),
            thanks(cy, ada),
            dead_end(ada),
            settled(dee, TaskOutcome::Failed),
            settled(bob, TaskOutcome::LeaseLost),
        ])
        .await;
    let by = |sort: ScoreKind, ascending| ListStandingsRequest {
        sort: sort.into(),
        ascending,
        ..ListStandingsRequest::default()
    };

    let generous = names(&fixture, by(ScoreKind::Unspecified, false)).await;
    let stingy = names(&fixture, by(ScoreKind::Generosity, true)).await;
    let trusted = names(&fixture, by(ScoreKind::Trust, false)).await;
    let unwell = names(&fixture, by(ScoreKind::Health, true)).await;

    assert_eq!(generous, ["cy", "bob", "dee", "ada"]);
    assert_eq!(stingy, ["ada", "dee", "bob", "cy"]);
    assert_eq!(trusted, ["ada", "bob", "dee", "cy"]);
    assert_eq!(unwell, ["dee", "bob", "ada", "cy"]);
}

#[tokio::test]
async fn idle_trust_is_sorted_as_it_is_now() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[spawned(ada, "ada", &[]), spawned(bob, "bob", &[])])
        .await;
    let mut operator = fixture.standings();
    operator.adjust_trust(adjustment(ada, 0.4)).await.unwrap();

    fixture.database.advance(TimeDelta::days(14)).await;
    operator.adjust_trust(adjustment(bob, 0.2)).await.unwrap();

    let trusted = ListStandingsRequest {
        sort: ScoreKind::Trust.into(),
        ..ListStandingsRequest::default()
    };
    // 0.9 has gone back to 0.6, below 0.7.
    assert_eq!(names(&fixture, trusted).await, ["bob", "ada"]);
}

#[tokio::test]
async fn lists_are_filtered_by_badge() {
    let fixture = fixture::start().await;
    let [hoarder, out, fresh] = agents();
    fixture
        .deliver(&[
            spawned(hoarder, "hoarder", &[]),
            spawned(out, "out", &[]),
            spawned(fresh, "fresh", &[]),
        ])
        .await;
    let dead_ends: Vec<_> = (0..13).map(|_| dead_end(hoarder)).collect();
    fixture.deliver(&dead_ends).await;
    fixture.quarantine(out).await.unwrap();
    let bearing = |badge: Badge| ListStandingsRequest {
        badge: badge.into(),
        ..ListStandingsRequest::default()
    };

    assert_eq!(names(&fixture, bearing(Badge::Hoarding)).await, ["hoarder"]);
    assert_eq!(names(&fixture, bearing(Badge::Quarantined)).await, ["out"]);
    assert_eq!(names(&fixture, bearing(Badge::New)).await, ["out", "fresh"]);
    assert!(
        names(&fixture, bearing(Badge::Overextended))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn a_list_goes_on_only_where_it_began() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[spawned(ada, "ada", &[]), spawned(bob, "bob", &[])])
        .await;
    let request = ListStandingsRequest {
        workspace_id: "default".to_owned(),
        page_size: 1,
        ..ListStandingsRequest::default()
    };
    let mut operator = fixture.standings();
    let page = operator.list_standings(request.clone()).await.unwrap();
    let token = page.into_inner().next_page_token;

    let elsewhere = ListStandingsRequest {
        page_token: token,
        ascending: true,
        ..request.clone()
    };
    let refused = operator.list_standings(elsewhere).await.unwrap_err();
    assert_eq!(field(&refused), "page_token");
    for (request, wrong) in [
        (
            ListStandingsRequest {
                page_size: 1_001,
                ..request.clone()
            },
            "page_size",
        ),
        (
            ListStandingsRequest {
                sort: 99,
                ..request.clone()
            },
            "sort",
        ),
        (
            ListStandingsRequest {
                badge: 99,
                ..request
            },
            "badge",
        ),
    ] {
        let refused = operator.list_standings(request).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, wrong)
        );
    }
}

#[tokio::test]
async fn a_standing_explains_itself_page_by_page_from_the_newest_row() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &[]),
            thanks(ada, bob),
            settled(ada, TaskOutcome::Failed),
            dead_end(ada),
            settled(ada, TaskOutcome::Succeeded),
        ])
        .await;
    let explain = |score: ScoreKind, token: String| ExplainStandingRequest {
        workspace_id: "default".to_owned(),
        name: "ada".to_owned(),
        score: score.into(),
        page_size: 2,
        page_token: token,
        ..ExplainStandingRequest::default()
    };
    let mut operator = fixture.standings();

    let mut all = Vec::new();
    let mut token = String::new();
    loop {
        let request = explain(ScoreKind::Unspecified, token);
        let page = operator
            .explain_standing(request)
            .await
            .unwrap()
            .into_inner();
        assert_eq!(page.standing.as_ref().unwrap().ledger_rows, 6);
        all.extend(page.entries);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    let request = explain(ScoreKind::Trust, String::new());
    let trust = operator
        .explain_standing(request)
        .await
        .unwrap()
        .into_inner();

    let told: Vec<_> = all
        .iter()
        .map(|entry| (entry.event.as_str(), entry.score(), entry.seq))
        .collect();
    assert_eq!(
        told,
        [
            ("task_succeeded", ScoreKind::Health, 2),
            ("task_succeeded", ScoreKind::Trust, 2),
            ("consumption", ScoreKind::Generosity, 2),
            ("task_failed", ScoreKind::Health, 1),
            ("task_failed", ScoreKind::Trust, 1),
            ("contribution", ScoreKind::Generosity, 1),
        ]
    );
    assert_eq!(trust.entries.len(), 2);
    assert_eq!(trust.entries[0].before, trust.entries[1].after);
    assert_eq!(trust.next_page_token, "");
}
