use super::*;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

#[test]
fn a_week_begins_on_monday_and_a_month_on_its_first() {
    // 2026-11-30 is a Monday.
    let cases = [
        (
            Period::Day,
            "2026-11-30T23:59:59.999999Z",
            "2026-11-30",
            "2026-12-01T00:00:00Z",
        ),
        (
            Period::Week,
            "2026-12-06T12:00:00Z",
            "2026-11-30",
            "2026-12-07T00:00:00Z",
        ),
        (
            Period::Week,
            "2026-11-30T00:00:00Z",
            "2026-11-30",
            "2026-12-07T00:00:00Z",
        ),
        (
            Period::Month,
            "2026-12-31T12:00:00Z",
            "2026-12-01",
            "2027-01-01T00:00:00Z",
        ),
    ];

    for (period, now, first, end) in cases {
        assert_eq!(period.first_day(at(now)).to_string(), first);
        assert_eq!(period.end(at(now)), at(end));
    }
}

#[test]
fn the_last_day_of_the_calendar_has_an_end_too() {
    let last = DateTime::<Utc>::MAX_UTC;

    for period in [Period::Day, Period::Week, Period::Month] {
        assert!(period.first_day(last) <= last.date_naive());
        assert_eq!(period.end(last), last);
    }
}

#[test]
fn a_limit_of_zero_spends_nothing_and_an_unreadable_one_neither() {
    let zero = Limit::Of(Wallet::new(0, Period::Day).unwrap(), Spending::default());
    let cap = Usd::from_micros(1);

    assert!(!zero.admits(cap) && !Limit::Unreadable.admits(cap) && Limit::Open.admits(cap));
    assert!(
        Wallet::new(-1, Period::Day).is_err()
            && Wallet::new(1_000_000_000_001, Period::Day).is_err()
    );
}
