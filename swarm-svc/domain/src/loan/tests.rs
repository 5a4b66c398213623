use proptest::prelude::*;

use super::*;

fn at(s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(s, 0).unwrap()
}

fn mind(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

fn loan(from: i64, share_ppm: i64) -> Loan {
    Loan {
        id: LoanId::generate(),
        lender: mind("ada"),
        borrower: mind("bob"),
        share_ppm,
        from: at(from),
        until: at(1_000),
        ended_at: None,
    }
}

#[test]
fn the_newest_loans_give_way_first() {
    let loans = [loan(1, 100_000), loan(3, 200_000), loan(2, 200_000)];
    let share = |ppm| Some(Share::from_ppm(ppm).unwrap());
    let ended = |share| give_way(&mind("ada"), share, &loans, at(10));

    assert_eq!(ended(share(1_000_000)), []);
    assert_eq!(ended(share(999_999)), [loans[1].id]);
    assert_eq!(ended(share(599_999)), [loans[1].id, loans[2].id]);
    assert_eq!(ended(None).len(), 3);
    assert_eq!(give_way(&mind("bob"), None, &loans, at(10)).len(), 3);
    assert_eq!(give_way(&mind("bob"), share(1_000), &loans, at(10)), []);
}

#[test]
fn a_loan_counts_until_its_end_and_not_at_it() {
    let loans = [loan(0, 100_000)];
    let own = Share::from_ppm(1_000_000).unwrap();
    let effective = |name: &str, s| effective(own, &loans, &mind(name), at(s)).as_ppm();

    assert_eq!(
        (effective("ada", 999), effective("bob", 999)),
        (900_000, 1_100_000)
    );
    assert_eq!(
        (effective("ada", 1_000), effective("bob", 1_000)),
        (1_000_000, 1_000_000)
    );
}

#[test]
fn a_loan_ends_once() {
    let ended = loan(0, 100_000).ended(at(10));

    assert_eq!(ended.ended_at, Some(at(10)));
    assert_eq!(ended.clone().ended(at(20)), ended);
    assert_eq!(loan(0, 100_000).ended(at(1_000)).ended_at, None);
}

#[test]
fn who_has_no_share_neither_lends_nor_borrows() {
    let own = Share::from_ppm(1_000_000).ok();
    let offer = Offer {
        lender: mind("ada"),
        borrower: mind("bob"),
        share_ppm: 1_000,
        until: Some(at(86_400)),
    };
    let refused = |parties: Parties, offer: Offer| {
        lend(LoanId::generate(), offer, parties, &[], at(0)).unwrap_err()
    };

    assert_eq!(
        refused(
            Parties {
                lender: None,
                borrower: own
            },
            offer.clone()
        ),
        Error::NoShare(mind("ada"))
    );
    assert_eq!(
        refused(
            Parties {
                lender: own,
                borrower: None
            },
            offer.clone()
        ),
        Error::NoShare(mind("bob"))
    );
    let both = Parties {
        lender: own,
        borrower: own,
    };
    let late = Offer {
        until: Some(at(86_401)),
        ..offer.clone()
    };
    assert!(matches!(
        refused(both, late),
        Error::Until { field: "until", .. }
    ));
    assert!(matches!(
        refused(
            both,
            Offer {
                share_ppm: 999,
                ..offer
            }
        ),
        Error::Number { .. }
    ));
}

proptest! {
    #[test]
    fn after_giving_way_no_more_than_half_is_lent(
        lent in prop::collection::vec((0..500_i64, 1_000..400_000_i64), 0..12), ppm in 1_000..2_000_000_i64
    ) {
        let mut loans: Vec<Loan> = lent.into_iter().map(|(from, ppm)| loan(from, ppm)).collect();
        let share = Share::from_ppm(ppm).unwrap();

        let ended = give_way(&mind("ada"), Some(share), &loans, at(600));
        for loan in loans.iter_mut().filter(|loan| ended.contains(&loan.id)) {
            loan.ended_at = Some(at(600));
        }

        prop_assert!(2 * given(&loans, &mind("ada"), at(600)) <= share.as_ppm());
        prop_assert!(2 * effective(share, &loans, &mind("ada"), at(600)).as_ppm() >= share.as_ppm());
    }
}
