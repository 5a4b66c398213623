//! Looking at minds: by name, by what they do, and as they change.

use cambium_proto::swarm::v1::watch_minds_response::Event;
use cambium_proto::swarm::v1::{ListMindsRequest, Mind, MindState, Organ, WatchMindsRequest};

use crate::fixture::{WORKSPACE, opening, start};

#[tokio::test]
async fn minds_are_listed_by_name_and_by_what_they_do() {
    let swarm = start().await;
    for mind in ["weksa", "eureka", "third"] {
        swarm.bear(opening(mind)).await.unwrap();
    }
    swarm.release("third").await;
    let list = |state: MindState, size, token: &str| ListMindsRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: size,
        page_token: token.to_owned(),
        state: state.into(),
    };
    let names =
        |minds: Vec<Mind>| -> Vec<String> { minds.into_iter().map(|mind| mind.instance).collect() };

    let first = list(MindState::Unspecified, 2, "");
    let first = swarm.minds().list_minds(first).await.unwrap().into_inner();
    assert_eq!(names(first.minds), ["eureka", "third"]);
    let rest = list(MindState::Unspecified, 2, &first.next_page_token);
    let rest = swarm.minds().list_minds(rest).await.unwrap().into_inner();
    assert_eq!(
        (names(rest.minds), rest.next_page_token.as_str()),
        (vec!["weksa".to_owned()], "")
    );
    let asleep = list(MindState::Asleep, 1, "");
    let asleep = swarm.minds().list_minds(asleep).await.unwrap().into_inner();
    assert_eq!(names(asleep.minds), ["eureka"]);
    let asleep = list(MindState::Asleep, 1, &asleep.next_page_token);
    let asleep = swarm.minds().list_minds(asleep).await.unwrap().into_inner();
    assert_eq!(
        (names(asleep.minds), asleep.next_page_token.as_str()),
        (vec!["weksa".to_owned()], "")
    );
}

#[tokio::test]
async fn a_watch_sends_all_and_then_what_changes() {
    let swarm = start().await;
    swarm.bear(opening("eureka")).await.unwrap();
    let request = WatchMindsRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    let mut watch = swarm
        .minds()
        .watch_minds(request)
        .await
        .unwrap()
        .into_inner();
    let mut next = async || watch.message().await.unwrap().unwrap().event.unwrap();

    assert!(matches!(next().await, Event::Mind(mind) if mind.state() == MindState::Asleep));
    assert_eq!(next().await, Event::CaughtUp(true));
    swarm.release("eureka").await;
    assert!(matches!(next().await, Event::Mind(mind) if mind.state() == MindState::Awake));
    swarm.operate("eureka", Organ::Self_).await;
    assert!(matches!(next().await, Event::Mind(mind) if mind.state() == MindState::InSession));
    // Nobody ends it: its instant comes.
    swarm.advance(chrono::TimeDelta::hours(5)).await;
    assert!(matches!(next().await, Event::Mind(mind) if mind.state() == MindState::Awake));
}
