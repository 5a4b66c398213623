//! What an opening asks of swarm, step by step.

use super::*;
use crate::target;

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    open: Open,
}

fn steps(words: &[&str], known: &Mind) -> Steps {
    use clap::Parser as _;
    let words = [&["open"], words].concat();
    let line = Line::try_parse_from(words).unwrap();
    Steps::of(line.open, None, None, known, "default")
}

#[test]
fn the_same_command_is_the_same_requests() {
    let words = [
        "eureka",
        "--target",
        "body:desk",
        "--share",
        "2",
        "--release",
    ];

    let (first, again) = (
        steps(&words, &Mind::default()),
        steps(&words, &Mind::default()),
    );

    assert_eq!(first.open, again.open);
    assert_eq!(first.share, again.share);
    assert_eq!(first.release, again.release);
    let share = first.share.unwrap();
    assert_eq!(share.share_ppm, 2_000_000);
    assert_ne!(share.request_id, first.open.request_id);
}

#[test]
fn a_corrected_share_leaves_the_opening_as_it_was() {
    let wrong = steps(&["eureka", "--share", "0"], &Mind::default());
    let right = steps(&["eureka", "--share", "1"], &Mind::default());

    assert_eq!(wrong.open, right.open);
    assert_ne!(
        wrong.share.unwrap().request_id,
        right.share.unwrap().request_id
    );
}

#[test]
fn what_is_not_said_is_as_it_was_proposed() {
    let proposed = Mind {
        display_name: "Eureka".to_owned(),
        mission: "Find things out.".to_owned(),
        target: Some(target::read("graph:daily").unwrap()),
        ..Mind::default()
    };

    let open = steps(&["eureka", "--title", "E."], &proposed).open;

    assert_eq!(
        (open.display_name.as_str(), open.mission.as_str()),
        ("E.", "Find things out.")
    );
    assert_eq!(target::shown(open.target.as_ref()), "graph:daily");
    let bare = steps(&["eureka"], &Mind::default()).open;
    assert_eq!(
        (bare.display_name.as_str(), bare.mission.as_str()),
        ("eureka", MISSION)
    );
}
