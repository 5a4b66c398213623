use super::*;

fn at(s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(s, 0).unwrap()
}

fn standing() -> Standing {
    Standing {
        state: State::Open,
        brake: Brake::Released,
        share: Share::from_ppm(1_000_000).ok(),
        session_until: None,
        agenda: Agenda::default(),
        launch: Launch {
            last_run_at: Some(at(100)),
            ..Launch::default()
        },
        reviews: Vec::new(),
        has_unreadable_persona: false,
        is_live: false,
    }
}

#[test]
fn a_reason_is_reached_and_later_than_the_last_run() {
    let woken = |wake_at| Standing {
        agenda: Agenda {
            wake_at: Some(at(wake_at)),
            ..Agenda::default()
        },
        ..standing()
    };

    assert!(!standing().is_runnable(at(200)));
    assert!(!woken(100).is_runnable(at(200)));
    assert!(!woken(201).is_runnable(at(200)));
    assert!(woken(200).is_runnable(at(200)));
    assert!(
        Standing {
            reviews: vec![at(150)],
            ..standing()
        }
        .is_runnable(at(200))
    );
    assert!(
        Standing {
            launch: Launch::default(),
            ..standing()
        }
        .is_runnable(at(200))
    );
}

#[test]
fn a_live_turn_keeps_its_mind_a_member_whatever_its_reasons() {
    let live = Standing {
        is_live: true,
        ..standing()
    };

    assert!(live.is_member(at(200)) && !live.is_runnable(at(200)));
}

#[test]
fn an_absent_brake_holds() {
    let unread = Standing {
        brake: Brake::default(),
        reviews: vec![at(150)],
        ..standing()
    };

    assert_eq!(unread.hindrance(at(200)), Some(Why::Brake));
}

#[test]
fn a_rest_ends_at_its_instant_or_when_it_is_ended() {
    let resting = Agenda {
        wakes: Wakes::Always,
        ..Agenda::default()
    }
    .resting(Some(at(300)), at(200))
    .unwrap();
    let mind = Standing {
        agenda: resting,
        ..standing()
    };

    assert_eq!(mind.hindrance(at(299)), Some(Why::Rest));
    assert_eq!(mind.hindrance(at(300)), None);
    assert_eq!(
        Standing {
            agenda: resting.rested(),
            ..mind
        }
        .hindrance(at(200)),
        None
    );
    assert!(Agenda::default().resting(Some(at(200)), at(200)).is_err());
    assert!(Agenda::default().resting(None, at(200)).is_err());
}

#[test]
fn held_work_is_looked_at_again_unless_an_instant_is_set() {
    let agenda = Agenda::default();
    let set = Agenda {
        wake_at: Some(at(201)),
        ..agenda
    };

    assert_eq!(agenda.settled(true, at(200)).wake_at, Some(at(1_100)));
    assert_eq!(agenda.settled(false, at(200)), agenda);
    assert_eq!(set.settled(true, at(200)), set);
}

#[test]
fn the_next_change_is_the_first_instant_ahead() {
    let mind = Standing {
        session_until: Some(at(500)),
        reviews: vec![at(50), at(400)],
        ..standing()
    };

    assert_eq!(mind.due_at([at(450)], at(200)), Some(at(400)));
    assert_eq!(mind.due_at([at(300)], at(200)), Some(at(300)));
    assert_eq!(mind.due_at([], at(500)), None);
}

#[test]
fn a_turn_is_told_what_it_is_for() {
    let woken = Standing {
        agenda: Agenda {
            wake_at: Some(at(150)),
            ..Agenda::default()
        },
        launch: Launch {
            reason_at: Some(at(90)),
            ..Launch::default()
        },
        reviews: vec![at(201)],
        ..standing()
    };

    assert_eq!(woken.woken_by(Some(at(100)), at(200)), ["wake_at"]);
    assert_eq!(woken.woken_by(Some(at(150)), at(201)), ["review"]);
    assert_eq!(woken.woken_by(None, at(200)), ["first", "news", "wake_at"]);
}
