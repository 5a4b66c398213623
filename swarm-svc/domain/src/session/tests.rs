use super::*;

fn at(s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(s, 0).unwrap()
}

fn open(ttl_s: Option<i64>, state: State) -> Result<Session, Error> {
    let ada = Instance::parse("ada").unwrap();
    Session::open(SessionId::generate(), (&ada, state), false, ttl_s, at(0))
}

#[test]
fn a_session_lasts_four_hours_unless_told_and_twelve_at_most() {
    let session = open(None, State::Open).unwrap();

    assert_eq!(session.until, at(14_400));
    assert!(session.is_open(at(14_399)) && !session.is_open(at(14_400)));
    assert_eq!(
        session.clone().extended(43_200, at(14_000)).unwrap().until,
        at(43_200)
    );
    assert_eq!(
        session.clone().extended(60, at(10)).unwrap().until,
        at(14_400)
    );
    assert_eq!(session.extended(60, at(14_400)), Err(Error::TurnLost));
    for bad in [0, 43_201] {
        assert!(open(Some(bad), State::Open).is_err());
    }
    assert_eq!(open(None, State::Retired), Err(Error::Retired));
}

#[test]
fn a_session_is_closed_once_and_no_later_than_it_ends() {
    let session = open(Some(60), State::Open).unwrap();
    let closed = session.clone().closed(at(10));

    assert_eq!(closed.closed_at, Some(at(10)));
    assert_eq!(closed.clone().closed(at(20)), closed);
    assert_eq!(session.closed(at(100)).closed_at, Some(at(60)));
}
