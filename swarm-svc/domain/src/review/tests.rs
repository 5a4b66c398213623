use serde_json::json;

use super::*;
use crate::record::sample::ruling;

#[test]
fn standing_decays_against_whoever_came_first() {
    let today = NaiveDate::from_ymd_opt(2026, 11, 30).unwrap();
    let usual = NaiveDate::from_ymd_opt(2027, 2, 28);
    let own = ruling("weksa:ruling:own", "mind", json!({}));
    let dated = |date: &str| ruling("weksa:ruling:own", "mind", json!({"review_on": date}));
    let given = ruling("weksa:ruling:given", "operator", json!({}));

    assert_eq!(at_write(&own, 1, today), Ok(None));
    assert_eq!(at_write(&own, 2, today), Ok(usual));
    assert_eq!(at_write(&given, 2, today), Ok(None));
    assert_eq!(
        at_write(&dated("2027-11-30"), 1, today),
        Ok(NaiveDate::from_ymd_opt(2027, 11, 30))
    );
    for bad in ["2027-12-01", "2026-11-30"] {
        assert!(at_write(&dated(bad), 2, today).is_err());
    }
    assert_eq!(at_second_mind(&own, false, today), usual);
    assert_eq!(at_second_mind(&own, true, today), None);
    assert_eq!(at_second_mind(&given, false, today), None);
    assert!(!is_overdue(today, today) && is_overdue(today, usual.unwrap()));
}
