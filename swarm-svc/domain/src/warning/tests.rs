use super::*;
use crate::dial::{Reserve, Setting};
use crate::wallet::{Period, Spending, Wallet};

fn dial(k: i64, burst: Option<i64>) -> Dial {
    let setting = Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 1_000_000,
        base_run_micro_usd: 400_000,
        k,
        reserve: Reserve::Cap,
        burst_micro_usd: burst,
        floor_micro_usd: None,
        turn_max_s: None,
    };
    Dial::new(setting).unwrap()
}

fn mind(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

fn limit(micro_usd: i64) -> Limit {
    let wallet = Wallet::new(micro_usd, Period::Day).unwrap();
    Limit::Of(wallet, Spending::default())
}

#[test]
fn a_burst_is_told_of_when_not_all_slots_fit() {
    let told = of_burst(&dial(3, Some(400_000)));

    assert_eq!(told, Some(Warning::BurstTooSmall { fits: 2, k: 3 }));
    assert_eq!(of_burst(&dial(3, None)), None);
}

#[test]
fn a_wallet_is_told_of_when_no_turn_fits_it() {
    let dial = dial(1, None);

    assert_eq!(of_wallet(Some(&dial), &limit(400_000)), None);
    assert!(of_wallet(Some(&dial), &limit(399_999)).is_some());
    assert_eq!(of_wallet(None, &limit(0)), None);
    assert_eq!(of_wallet(Some(&dial), &Limit::Open), None);
    let unreadable = of_wallet(None, &Limit::Unreadable);
    assert_eq!(unreadable, Some(Warning::WalletUnreadable));
}

#[test]
fn a_share_over_one_slot_is_told_of_by_its_mind() {
    let share = |ppm| EffectiveShare::from_ppm(ppm).unwrap();
    let members = [(mind("ada"), share(900_000)), (mind("bob"), share(100_000))];

    let told = of_shares(&members, &dial(2, None));

    assert_eq!(told, [Warning::ShareInfeasible { mind: mind("ada") }]);
    assert_eq!(told[0].mind(), Some(&mind("ada")));
    assert_eq!(of_shares(&members, &dial(1, None)), []);
}

#[test]
fn a_review_is_overdue_the_day_after() {
    let day = |day| NaiveDate::from_ymd_opt(2026, 11, day).unwrap();
    let told = |today| of_review(mind("ada"), "ada:ruling:x".to_owned(), day(10), today);

    assert_eq!(told(day(10)), None);
    assert_eq!(told(day(11)).unwrap().reason(), "REVIEW_OVERDUE");
}
