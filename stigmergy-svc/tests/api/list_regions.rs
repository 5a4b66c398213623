//! Where there is anything to sense.

use cambium_proto::stigmergy::v1::{ListRegionsRequest, ListRegionsResponse};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::fixture::{self, Fixture, WORKSPACE, field, placing, time};

async fn list(
    fixture: &Fixture,
    region: &str,
    page_size: i32,
    page_token: &str,
) -> Result<ListRegionsResponse, Status> {
    let request = ListRegionsRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: region.to_owned(),
        page_size,
        page_token: page_token.to_owned(),
    };
    let reply = fixture.agent("reader").list_regions(request).await?;
    Ok(reply.into_inner())
}

fn counts(reply: &ListRegionsResponse) -> Vec<(&str, i64)> {
    let regions = reply.regions.iter();
    regions.map(|r| (r.region.as_str(), r.markers)).collect()
}

async fn with_marks(regions: &[&str]) -> Fixture {
    let fixture = fixture::start().await;
    for region in regions {
        fixture
            .send("ada", placing(region, "danger"))
            .await
            .unwrap();
    }
    fixture
}

#[tokio::test]
async fn regions_with_a_mark_in_or_below_them_are_listed_by_name() {
    let fixture = with_marks(&["a/b/c", "a/b/c", "a/b-c", "z", "a/b/c/d"]).await;

    let all = list(&fixture, "", 0, "").await.unwrap();
    let part = list(&fixture, "a/b", 0, "").await.unwrap();

    let expected = [
        ("a", 0),
        ("a/b", 0),
        ("a/b-c", 1),
        ("a/b/c", 2),
        ("a/b/c/d", 1),
        ("z", 1),
    ];
    assert_eq!(counts(&all), expected);
    assert_eq!(counts(&part), [("a/b", 0), ("a/b/c", 2), ("a/b/c/d", 1)]);
    assert_eq!(all.next_page_token, "");
}

#[tokio::test]
async fn a_list_is_read_in_pages() {
    let fixture = with_marks(&["a/b", "c", "d/e/f"]).await;
    let mut names = Vec::new();
    let mut token = String::new();

    loop {
        let page = list(&fixture, "", 2, &token).await.unwrap();
        names.extend(page.regions.into_iter().map(|r| r.region));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    assert_eq!(names, ["a", "a/b", "c", "d", "d/e", "d/e/f"]);
}

#[tokio::test]
async fn a_region_whose_marks_have_all_faded_is_not_listed() {
    let fixture = with_marks(&["a"]).await;
    let placed = fixture.send("ada", placing("b", "path")).await.unwrap();
    let placed = placed.marker.unwrap();
    let left = time(placed.fade_time) - time(placed.place_time);
    fixture.database.advance(left + TimeDelta::seconds(1)).await;

    let reply = list(&fixture, "", 0, "").await.unwrap();

    assert_eq!(counts(&reply), [("a", 1)]);
}

#[tokio::test]
async fn what_has_no_form_is_refused() {
    let fixture = fixture::start().await;

    for (name, region, size, token) in [
        ("page_size", "", -1, ""),
        ("page_size", "", 1_001, ""),
        ("page_token", "", 0, "?"),
        ("page_token", "", 0, "AAAAAAAAAAAA"),
        ("region", "A", 0, ""),
    ] {
        let status = list(&fixture, region, size, token).await.unwrap_err();

        assert_eq!(status.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&status), name);
    }
}
