use super::*;
use crate::dial::{Reserve, Setting};
use crate::launch::Launch;
use crate::member::{Agenda, Brake, Wakes};
use crate::mind::State;
use crate::share::Share;
use crate::wallet::Period;

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

fn usd(micros: i64) -> Usd {
    Usd::from_micros(micros)
}

fn round() -> Round {
    let setting = Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 2_000_000,
        base_run_micro_usd: 1_000_000,
        k: 1,
        reserve: Reserve::Cap,
        burst_micro_usd: None,
        floor_micro_usd: None,
        turn_max_s: None,
    };
    Round {
        now: now(),
        dial: Some(Dial::new(setting).unwrap()),
        bucket: Bucket::empty(now()),
        reserved: usd(0),
        limit: Limit::Open,
        taken: Vec::new(),
        preempted_until: None,
    }
}

fn awake() -> Standing {
    Standing {
        state: State::Open,
        brake: Brake::Released,
        share: Share::from_ppm(1_000_000).ok(),
        session_until: None,
        agenda: Agenda {
            wakes: Wakes::Always,
            ..Agenda::default()
        },
        launch: Launch {
            last_run_at: Some(now()),
            ..Launch::default()
        },
        reviews: Vec::new(),
        has_unreadable_persona: false,
        is_live: false,
    }
}

#[test]
fn a_mean_is_of_the_newest_twenty_and_rounded_half_up() {
    let costs: Vec<Usd> = [1, 2]
        .into_iter()
        .chain([0; 18])
        .chain([999])
        .map(usd)
        .collect();

    assert_eq!(mean(&[], usd(7)), usd(7));
    assert_eq!(mean(&[usd(1), usd(2)], usd(7)), usd(2));
    assert_eq!(mean(&costs, usd(7)), usd(0));
}

#[test]
fn a_mind_without_a_turn_is_told_the_first_thing_in_the_way_and_its_end() {
    let later = now() + TimeDelta::hours(1);
    let hour = Some(later);
    let idle = Agenda {
        wake_at: hour,
        ..Agenda::default()
    };
    let retrying = Launch {
        retry_at: hour,
        ..awake().launch
    };
    let cases = [
        (
            Standing {
                state: State::Retired,
                ..awake()
            },
            Why::Retired,
            None,
        ),
        (
            Standing {
                brake: Brake::Held,
                share: None,
                ..awake()
            },
            Why::Brake,
            None,
        ),
        (
            Standing {
                share: None,
                session_until: hour,
                ..awake()
            },
            Why::Share,
            None,
        ),
        (
            Standing {
                session_until: hour,
                ..awake()
            },
            Why::Session,
            hour,
        ),
        (
            Standing {
                agenda: Agenda {
                    rest_until: hour,
                    ..idle
                },
                ..awake()
            },
            Why::Rest,
            hour,
        ),
        (
            Standing {
                launch: retrying,
                has_unreadable_persona: true,
                ..awake()
            },
            Why::Persona,
            hour,
        ),
        (
            Standing {
                launch: retrying,
                ..awake()
            },
            Why::Retry,
            hour,
        ),
        (
            Standing {
                agenda: idle,
                ..awake()
            },
            Why::Idle,
            hour,
        ),
        (
            Standing {
                is_live: true,
                ..awake()
            },
            Why::Live,
            hour,
        ),
        (awake(), Why::Behind, None),
    ];

    for (mind, why, until) in cases {
        assert_eq!(
            explain(&mind, &round(), hour, false),
            Some(Explanation { why, until })
        );
    }
    assert_eq!(explain(&awake(), &round(), None, true), None);
}

#[test]
fn a_closed_gate_says_when_it_may_open() {
    let later = now() + TimeDelta::hours(1);
    let wallet = Wallet::new(0, Period::Day).unwrap();
    let cases = [
        (
            Round {
                dial: None,
                ..round()
            },
            Why::Dial,
            None,
        ),
        (
            Round {
                preempted_until: Some(later),
                ..round()
            },
            Why::Preempt,
            Some(later),
        ),
        (
            Round {
                taken: vec![0],
                ..round()
            },
            Why::Slots,
            None,
        ),
        (
            Round {
                reserved: usd(2_000_000),
                ..round()
            },
            Why::Bucket,
            Some(later),
        ),
        (
            Round {
                limit: Limit::Of(wallet, Spending::default()),
                ..round()
            },
            Why::Wallet,
            Some(now() + TimeDelta::hours(12)),
        ),
        (
            Round {
                limit: Limit::Unreadable,
                ..round()
            },
            Why::Wallet,
            None,
        ),
    ];

    for (round, why, until) in cases {
        assert_eq!(
            explain(&awake(), &round, None, true),
            Some(Explanation { why, until })
        );
    }
}

#[test]
fn a_wallet_without_room_for_one_turn_is_dry_now_and_an_end_past_the_period_is_left_out() {
    let round = round();
    let dial = round.dial.unwrap();
    let burn = Some(Burn {
        charged: usd(24),
        first_launch: now() - TimeDelta::days(30),
    });
    let foresee = |limit: i64| {
        let wallet = Wallet::new(limit, Period::Day).unwrap();
        dry(
            (&wallet, Spending::default()),
            (&round.bucket, usd(0)),
            &dial,
            burn,
            now(),
        )
    };

    let none = foresee(999_999);
    assert_eq!((none.expected, none.earliest), (Some(now()), Some(now())));
    let wide = foresee(1_000_000_000_000);
    assert_eq!(
        (wide.burn_per_h, wide.expected, wide.earliest),
        (usd(1), None, None)
    );
}
