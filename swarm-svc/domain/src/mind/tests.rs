use cambium_kernel::Failure as _;

use super::*;
use crate::launch::Launch;
use crate::member::Agenda;

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

#[test]
fn a_name_once_opened_is_never_used_again() {
    let used = [State::Open, State::Retired, State::Moved];

    for state in used {
        assert_eq!(State::open(Some(state), 0), Err(Error::SlugTaken));
        assert_eq!(State::propose(Some(state)), Err(Error::SlugTaken));
    }
    let declined = State::Proposed.decline().unwrap();
    assert_eq!(State::propose(Some(declined)), Ok(State::Proposed));
    assert_eq!(State::open(Some(State::Proposed), 9_999), Ok(State::Open));
    assert_eq!(State::open(None, MOST_OPEN), Err(Error::TooManyMinds));
}

#[test]
fn who_retires_or_moves_is_told_all_that_stands_in_the_way() {
    let busy = Ties {
        is_released: true,
        has_live_turn: true,
        has_session: true,
        campaigns: 1,
        stewardships: 1,
        held_work: 1,
        offers_given: 1,
        is_lead: true,
    };

    let Err(Error::NotReady(all)) = retire(State::Open, &busy) else {
        panic!("it retired");
    };
    let Err(Error::NotReady(some)) = transfer(State::Open, &busy) else {
        panic!("it moved");
    };

    assert_eq!(all.len(), 8);
    assert_eq!(
        some,
        [
            Unmet::BrakeReleased,
            Unmet::LiveTurn,
            Unmet::WorkHeld,
            Unmet::Lead
        ]
    );
    assert_eq!(retire(State::Open, &Ties::default()), Ok(State::Retired));
    assert_eq!(retire(State::Retired, &busy), Ok(State::Retired));
    assert_eq!(retire(State::Moved, &busy), Err(Error::Moved));
}

#[test]
fn a_mind_without_a_target_is_not_released() {
    assert_eq!(State::Open.release(false), Err(Error::NoTarget));
    assert_eq!(State::Open.release(true), Ok(Brake::Released));
    assert_eq!(State::Retired.release(true), Err(Error::Retired));
    assert_eq!(Error::NoTarget.reason(), "NO_TARGET");
}

#[test]
fn a_field_of_its_profile_is_named() {
    let good = Profile {
        display_name: "Weksa",
        mission: "Tends.",
        host: Some("here"),
    };
    let field = |profile: Profile<'_>| profile.check().unwrap_err().field().unwrap();

    assert_eq!(good.check(), Ok(()));
    assert_eq!(
        field(Profile {
            display_name: "-",
            ..good
        }),
        "display_name"
    );
    assert_eq!(
        field(Profile {
            mission: "",
            ..good
        }),
        "mission"
    );
    assert_eq!(
        field(Profile {
            host: Some("a\nb"),
            ..good
        }),
        "host"
    );
}

#[test]
fn what_a_mind_does_is_shown_before_what_it_might() {
    let awake = Standing {
        state: State::Open,
        brake: Brake::Released,
        share: None,
        session_until: None,
        agenda: Agenda::default(),
        launch: Launch::default(),
        reviews: Vec::new(),
        has_unreadable_persona: false,
        is_live: false,
    };
    let later = Some(now() + chrono::TimeDelta::hours(1));
    let resting = Standing {
        agenda: Agenda {
            rest_until: later,
            ..Agenda::default()
        },
        ..awake.clone()
    };
    let asleep = Standing {
        brake: Brake::Held,
        ..resting.clone()
    };
    let in_session = Standing {
        session_until: later,
        ..asleep.clone()
    };
    let acting = Standing {
        is_live: true,
        ..in_session.clone()
    };
    let retired = Standing {
        state: State::Retired,
        ..acting.clone()
    };

    let all = [awake, resting, asleep, in_session, acting, retired].map(|mind| shown(&mind, now()));

    assert_eq!(
        all,
        [
            Shown::Awake,
            Shown::Resting,
            Shown::Asleep,
            Shown::InSession,
            Shown::Acting,
            Shown::Retired
        ]
    );
}
