use super::*;
use crate::dial::{Reserve, Setting};
use crate::timeline::Vtime;

fn at(s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(s, 0).unwrap()
}

fn turn(body: Body) -> Turn {
    let setting = Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 1,
        base_run_micro_usd: 1_000_000,
        k: 1,
        reserve: Reserve::Cap,
        burst_micro_usd: None,
        floor_micro_usd: None,
        turn_max_s: Some(600),
    };
    let winner = Candidate {
        instance: Instance::parse("ada").unwrap(),
        vtime: Vtime::default(),
        share: EffectiveShare::from_ppm(1_000_000).unwrap(),
    };
    let terms = Terms {
        id: TurnId::generate(),
        epoch: 7,
        slot: 0,
        body,
        haste: Factor::ONE,
    };
    Turn::granted(winner, terms, &Dial::new(setting).unwrap(), at(0))
}

#[test]
fn the_first_body_takes_the_turn() {
    let taken = turn(Body::External).acknowledged(7, "one", at(10)).unwrap();

    assert_eq!((taken.state, taken.alive_until), (State::Running, at(130)));
    assert_eq!(
        taken.clone().acknowledged(7, "one", at(10)),
        Ok(taken.clone())
    );
    assert_eq!(
        taken.clone().acknowledged(7, "two", at(10)),
        Err(Error::AlreadyAcknowledged)
    );
    assert_eq!(
        taken.clone().acknowledged(6, "one", at(10)),
        Err(Error::TurnLost)
    );
    assert_eq!(taken.beaten(7, "two", at(10)), Err(Error::TurnLost));
}

#[test]
fn a_body_that_was_given_up_is_fenced_off() {
    for state in [State::Settled, State::Withdrawn] {
        let over = Turn {
            state,
            ..turn(Body::External)
        };

        assert_eq!(over.fence(7), Err(Error::TurnLost));
        assert_eq!(
            over.clone().acknowledged(7, "one", at(1)),
            Err(Error::TurnLost)
        );
        assert_eq!(over.beaten(7, "one", at(1)), Err(Error::TurnLost));
    }
}

#[test]
fn a_graph_that_cannot_be_asked_stays_until_its_deadline() {
    let running = Turn {
        state: State::Running,
        ..turn(Body::Graph)
    };
    let overdue = Fate::Settle {
        cost: None,
        outcome: Outcome::Overdue,
    };

    assert!(matches!(
        running.reconciled(Proof::Silence, None, at(720)),
        Fate::Stays { .. }
    ));
    assert_eq!(running.reconciled(Proof::Silence, None, at(721)), overdue);
    assert_eq!(
        running.reconciled(Proof::Alive, Some(at(100)), at(221)),
        overdue
    );
    let stays = Fate::Stays {
        alive_until: at(220),
    };
    assert_eq!(running.reconciled(Proof::Alive, None, at(100)), stays);
}

#[test]
fn what_never_ran_is_withdrawn_and_what_ended_is_settled_by_its_cost() {
    let granted = turn(Body::Graph);
    let cost = Some(Usd::from_micros(5));
    let settled = Fate::Settle {
        cost,
        outcome: Outcome::Ended,
    };

    assert_eq!(
        granted.reconciled(Proof::Gone, None, at(121)),
        Fate::Withdraw
    );
    assert_eq!(
        turn(Body::External).reconciled(Proof::Silence, None, at(121)),
        Fate::Withdraw
    );
    assert_eq!(
        granted.reconciled(Proof::Ended(cost), None, at(9_999)),
        settled
    );
}

#[test]
fn a_body_is_asked_in_the_last_minute() {
    let live = turn(Body::Graph);

    assert!(!live.is_due(at(60)) && live.is_due(at(61)));
    assert!(
        !Turn {
            state: State::Settled,
            ..live
        }
        .is_due(at(999))
    );
}
