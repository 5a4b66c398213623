use cambium_kernel::Failure as _;

use super::*;

fn setting() -> Setting {
    Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 2_000_000,
        base_run_micro_usd: 400_000,
        k: 3,
        reserve: Reserve::Cap,
        burst_micro_usd: None,
        floor_micro_usd: None,
        turn_max_s: None,
    }
}

#[test]
fn what_is_left_out_gets_its_default() {
    let dial = Dial::new(setting()).unwrap();
    assert_eq!(
        (dial.burst(), dial.floor()),
        (Usd::from_micros(800_000), Usd::from_micros(1_000))
    );
    assert_eq!((dial.turn_max(), dial.fits()), (TimeDelta::hours(6), 3));

    let literal = Dial::new(Setting {
        reserve: Reserve::None,
        ..setting()
    })
    .unwrap();
    assert_eq!((literal.burst(), literal.fits()), (Usd::from_micros(0), 3));

    let small = Dial::new(Setting {
        base_run_micro_usd: 7,
        burst_micro_usd: Some(0),
        ..setting()
    })
    .unwrap();
    assert_eq!((small.floor(), small.fits()), (Usd::from_micros(7), 1));
}

#[test]
fn a_number_out_of_its_bounds_is_named() {
    let cases = [
        (
            Setting {
                heat_ppm: 49_999,
                ..setting()
            },
            "heat_ppm",
        ),
        (
            Setting {
                heat_ppm: 2_000_001,
                ..setting()
            },
            "heat_ppm",
        ),
        (
            Setting {
                base_rate_micro_usd_per_h: 0,
                ..setting()
            },
            "base_rate_micro_usd_per_h",
        ),
        (
            Setting {
                base_rate_micro_usd_per_h: 19,
                heat_ppm: 50_000,
                ..setting()
            },
            "base_rate_micro_usd_per_h",
        ),
        (
            Setting {
                base_run_micro_usd: 1_000_000_001,
                ..setting()
            },
            "base_run_micro_usd",
        ),
        (
            Setting {
                base_run_micro_usd: 19,
                heat_ppm: 50_000,
                ..setting()
            },
            "base_run_micro_usd",
        ),
        (Setting { k: 0, ..setting() }, "k"),
        (
            Setting {
                k: 1_001,
                ..setting()
            },
            "k",
        ),
        (
            Setting {
                burst_micro_usd: Some(-1),
                ..setting()
            },
            "burst_micro_usd",
        ),
        (
            Setting {
                burst_micro_usd: Some(400_000_001),
                ..setting()
            },
            "burst_micro_usd",
        ),
        (
            Setting {
                floor_micro_usd: Some(0),
                ..setting()
            },
            "floor_micro_usd",
        ),
        (
            Setting {
                floor_micro_usd: Some(400_001),
                ..setting()
            },
            "floor_micro_usd",
        ),
        (
            Setting {
                turn_max_s: Some(59),
                ..setting()
            },
            "turn_max_s",
        ),
    ];

    for (setting, field) in cases {
        let refused = Dial::new(setting).unwrap_err();
        assert_eq!(refused.field().as_deref(), Some(field));
    }
}
