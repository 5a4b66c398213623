use super::*;

fn at(s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(s, 0).unwrap()
}

#[test]
fn the_wait_doubles_up_to_a_quarter_of_an_hour() {
    let mut launch = Launch::default();
    let mut waits = Vec::new();

    for _ in 0..8 {
        launch = launch.withdrawn(at(0));
        waits.push((launch.retry_at.unwrap() - at(0)).num_seconds());
    }

    assert_eq!(waits, [30, 60, 120, 240, 480, 900, 900, 900]);
    assert_eq!(launch.settled().fails, 0);
    let long = Launch {
        fails: u32::MAX,
        ..launch
    };
    assert_eq!(long.withdrawn(at(0)).retry_at, Some(at(900)));
}

#[test]
fn a_reason_within_the_instant_of_a_launch_is_later_than_it() {
    let touched = Launch::default().launched(at(5)).ran(at(5)).touched(at(5));

    assert!(touched.reason_at > touched.last_run_at);
    assert_eq!(Launch::default().touched(at(5)).reason_at, Some(at(5)));
}
