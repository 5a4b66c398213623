use cambium_kernel::{Failure, ManualClock};
use http::HeaderValue;

use super::*;
use crate::token::tests::{key, noon, verifier, wish};
use crate::token::{Issuer, Mint, SigningKey};

const START: &str = "/cambium.hypha.v1.RunService/StartRun";
const GET: &str = "/cambium.hypha.v1.RunService/GetRun";
const ENROLL: &str = "/cambium.genesis.v1.AgentService/EnrollAgent";
const DELIVER: &str = "/cambium.signal.v1.SignalService/Deliver";

static HYPHA: [Rule; 2] = [
    Rule {
        method: START,
        kinds: &[Kind::Operator],
    },
    Rule {
        method: DELIVER,
        kinds: &[Kind::Service],
    },
];
static GENESIS: [Rule; 2] = [
    Rule {
        method: ENROLL,
        kinds: &[Kind::Operator],
    },
    Rule {
        method: DELIVER,
        kinds: &[Kind::Service],
    },
];

struct House {
    operator: SigningKey,
    service: SigningKey,
    swarm: SigningKey,
    clock: ManualClock,
}

impl House {
    fn new() -> Self {
        let clock = ManualClock::at(noon());
        Self {
            operator: key(Issuer::Operator),
            service: key(Issuer::Service),
            swarm: key(Issuer::Swarm),
            clock,
        }
    }

    fn auth(&self, audience: &'static str, rules: &'static [Rule]) -> Auth {
        let keys = [&self.operator, &self.service, &self.swarm];
        Auth::new(verifier(&keys, audience, &self.clock), audience, rules)
    }

    fn merged(&self) -> Auth {
        Auth::merge(vec![
            self.auth("hypha", &HYPHA),
            self.auth("genesis", &GENESIS),
        ])
    }

    fn token(&self, kind: Kind, audience: &str) -> HeaderMap {
        let key = match kind {
            Kind::Service => &self.service,
            Kind::Mind => &self.swarm,
            _ => &self.operator,
        };
        let audience = vec![audience.to_owned()];
        let token = key
            .mint(
                noon(),
                Mint {
                    audience,
                    ..wish(kind)
                },
            )
            .unwrap();
        bearing(&format!("Bearer {token}"))
    }
}

fn bearing(value: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
}

fn asked(auth: &Auth, path: &str, headers: &HeaderMap) -> Result<Option<String>, Error> {
    let caller = auth.method(path).admit(headers)?;
    Ok(caller.map(|principal| principal.subject()))
}

#[test]
fn a_listed_kind_may_call_and_another_may_not() {
    let house = House::new();
    let auth = house.auth("hypha", &HYPHA);

    let operator = asked(&auth, START, &house.token(Kind::Operator, "hypha"));
    let worker = asked(&auth, START, &house.token(Kind::Worker, "hypha")).unwrap_err();

    assert_eq!(operator, Ok(Some("operator:ada".to_owned())));
    assert_eq!(worker.reason(), "NOT_PERMITTED");
    assert_eq!(
        worker.to_string(),
        format!("hypha does not let a caller of kind worker call {START}")
    );
}

#[test]
fn what_no_rule_lists_is_denied_to_everybody() {
    let house = House::new();
    let auth = house.auth("hypha", &HYPHA);

    for kind in Kind::ALL {
        let refused = asked(&auth, GET, &house.token(kind, "hypha")).unwrap_err();

        assert_eq!(refused.reason(), "NOT_PERMITTED", "{kind}");
    }
}

#[test]
fn a_path_that_leads_nowhere_says_so_but_only_to_those_who_show_who_they_are() {
    let house = House::new();
    let auth = house.auth("hypha", &HYPHA);

    for path in [
        "/",
        "/unknown",
        "/cambium.hypha.v1.RunService/",
        "/grpc.health.v1.Health/Kill",
    ] {
        let known = asked(&auth, path, &house.token(Kind::Operator, "hypha"));
        let stranger = asked(&auth, path, &HeaderMap::new());

        assert_eq!(known, Err(Error::NoSuchMethod), "{path}");
        assert_eq!(stranger, Err(Error::TokenMissing), "{path}");
    }
}

#[test]
fn strangers_may_ask_for_health_and_nothing_else() {
    let house = House::new();
    let auth = house.auth("hypha", &HYPHA);

    for path in contract::HEALTH {
        assert_eq!(asked(&auth, path, &HeaderMap::new()), Ok(None));
    }
    for path in contract::methods().chain(contract::REFLECTION) {
        assert_eq!(
            asked(&auth, path, &HeaderMap::new()),
            Err(Error::TokenMissing),
            "{path}"
        );
    }
}

#[test]
fn anybody_with_a_token_may_reflect() {
    let house = House::new();
    let auth = house.merged();

    for kind in Kind::ALL {
        for audience in ["hypha", "genesis"] {
            assert!(asked(&auth, contract::REFLECTION[0], &house.token(kind, audience)).is_ok());
        }
    }
}

#[test]
fn a_header_without_a_bearers_token_is_no_token() {
    let house = House::new();
    let auth = house.auth("hypha", &HYPHA);

    for value in ["", "Bearer", "Basic YTpi", "token"] {
        assert_eq!(
            asked(&auth, START, &bearing(value)),
            Err(Error::TokenMissing),
            "{value}"
        );
    }
    let empty = asked(&auth, START, &bearing("bearer "));
    assert_eq!(empty, Err(Error::Token(TokenError::Malformed)));
}

#[test]
fn merged_rules_keep_their_own_audience() {
    let house = House::new();
    let auth = house.merged();
    let operator = |audience| house.token(Kind::Operator, audience);
    let service = |audience| house.token(Kind::Service, audience);

    let wrong = Err(Error::Token(TokenError::WrongAudience));
    assert!(asked(&auth, START, &operator("hypha")).is_ok());
    assert_eq!(asked(&auth, START, &operator("genesis")), wrong);
    assert!(asked(&auth, ENROLL, &operator("genesis")).is_ok());
    assert_eq!(asked(&auth, ENROLL, &operator("hypha")), wrong);
    assert!(asked(&auth, DELIVER, &service("hypha")).is_ok());
    assert!(asked(&auth, DELIVER, &service("genesis")).is_ok());
    assert_eq!(asked(&auth, DELIVER, &service("immune")), wrong);
}

#[test]
fn a_bad_token_is_told_apart_from_a_good_one_of_the_wrong_kind_behind_a_merged_port() {
    let house = House::new();
    let auth = house.merged();

    let refused = asked(&auth, DELIVER, &house.token(Kind::Operator, "genesis")).unwrap_err();

    assert!(matches!(
        refused,
        Error::NotPermitted {
            service: "genesis",
            kind: Kind::Operator,
            ..
        }
    ));
}

#[test]
fn an_expired_token_is_told_as_such_whichever_service_it_was_for() {
    let house = House::new();
    let auth = house.merged();

    for audience in ["hypha", "genesis"] {
        let token = house.token(Kind::Service, audience);
        house.clock.advance(chrono::TimeDelta::minutes(6));

        let refused = asked(&auth, DELIVER, &token).unwrap_err();

        house.clock.advance(chrono::TimeDelta::minutes(-6));
        assert_eq!(refused.reason(), "TOKEN_EXPIRED", "{audience}");
    }
}
