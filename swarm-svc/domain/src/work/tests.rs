use super::*;

fn mind(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

#[test]
fn unaddressed_work_lands_with_the_lead_and_waits_without_one() {
    let lead = || Some(mind("eureka"));

    assert_eq!(
        Work::submitted(None, lead()).holder(),
        Some(&mind("eureka"))
    );
    assert_eq!(
        Work::submitted(Some(mind("weksa")), lead()).holder(),
        Some(&mind("weksa"))
    );
    assert_eq!(Work::submitted(None, None).state, State::Unrouted);
}

#[test]
fn an_offer_moves_nothing_until_it_is_accepted() {
    let offered = Work::submitted(None, Some(mind("eureka")))
        .routed(&mind("eureka"), mind("weksa"))
        .unwrap();

    assert_eq!(offered.holder(), Some(&mind("eureka")));
    let taken = offered
        .clone()
        .answered(&mind("weksa"), true, now(), now())
        .unwrap();
    assert_eq!(taken.state, State::Held(mind("weksa")));
    let declined = offered
        .clone()
        .answered(&mind("weksa"), false, now(), now())
        .unwrap();
    assert_eq!(declined.state, State::Held(mind("eureka")));
    assert_eq!(offered.clone().lapsed().state, State::Held(mind("eureka")));
    let late = offered
        .clone()
        .answered(&mind("weksa"), true, now(), now() + OFFER_LASTS);
    assert_eq!(late, Err(Error::OfferOver));
    let stranger = offered.answered(&mind("norn"), true, now(), now());
    assert_eq!(stranger, Err(Error::Denied(Denial::NotTheGiver)));
}

#[test]
fn nobody_gives_what_it_does_not_hold() {
    let held = Work::submitted(Some(mind("weksa")), None);

    assert_eq!(
        held.clone().offered(&mind("eureka"), mind("norn")),
        Err(Error::Denied(Denial::NotTheGiver))
    );
    assert_eq!(
        held.clone().routed(&mind("weksa"), mind("norn")),
        Err(Error::Denied(Denial::NotTheGiver))
    );
    assert_eq!(
        held.clone().completed(&mind("eureka")),
        Err(Error::Denied(Denial::NotTheGiver))
    );
    let done = held.completed(&mind("weksa")).unwrap();
    assert_eq!(
        done.clone().offered(&mind("weksa"), mind("norn")),
        Err(Error::NothingHeld)
    );
    assert_eq!(done.withdrawn(), Err(Error::NothingHeld));
}

#[test]
fn work_goes_along_with_the_lead_but_for_what_a_lead_gave_back() {
    let (eureka, weksa) = (mind("eureka"), mind("weksa"));
    let at_lead = Work::submitted(None, Some(eureka.clone()));
    assert_eq!(at_lead.clone().led_by(Some(&weksa)).holder(), Some(&weksa));
    assert_eq!(at_lead.clone().led_by(None).state, State::Unrouted);

    let back = at_lead.returned(&eureka, Some(&eureka)).unwrap();
    assert_eq!(back.clone().led_by(Some(&weksa)).state, State::Unrouted);
    assert_eq!(back.assigned(weksa.clone()).unwrap().holder(), Some(&weksa));

    let own = Work::submitted(Some(weksa.clone()), Some(eureka.clone()));
    assert_eq!(own.clone().led_by(Some(&eureka)), own);
    assert_eq!(
        own.returned(&weksa, Some(&eureka)).unwrap().holder(),
        Some(&eureka)
    );
}
