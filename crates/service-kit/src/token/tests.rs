use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cambium_kernel::ManualClock;
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::claims::Claims;
use super::*;
use crate::principal::{HeldLease, Kind};

pub(crate) fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub(crate) fn key(issuer: Issuer) -> SigningKey {
    SigningKey::generate(&format!("{issuer}-1"), issuer).unwrap()
}

/// Any caller, for the service `hypha`, for as long as its kind may.
pub(crate) fn wish(kind: Kind) -> Mint {
    Mint {
        kind,
        name: "ada".to_owned(),
        audience: vec!["hypha".to_owned()],
        ttl: max_life(kind),
        workspaces: vec!["*".to_owned()],
        agents: Vec::new(),
        capabilities: Vec::new(),
        act: Some("operator:ada".to_owned()),
        lease: Some(HeldLease {
            task_id: "r/t".to_owned(),
            epoch: 3,
        }),
        fence: None,
    }
}

pub(crate) fn verifier(keys: &[&SigningKey], audience: &str, clock: &ManualClock) -> Verifier {
    let bundle = keys
        .iter()
        .fold(Bundle::default(), |bundle, key| bundle.with(key.public()));
    Verifier::new(bundle, audience, Arc::new(clock.clone()))
}

/// An operator's key, a verifier that knows it, and the clock both go by.
fn house() -> (SigningKey, Verifier, ManualClock) {
    let clock = ManualClock::at(noon());
    let key = key(Issuer::Operator);
    let verifier = verifier(&[&key], "hypha", &clock);
    (key, verifier, clock)
}

fn claims() -> Claims {
    Claims::of(wish(Kind::Operator), Issuer::Operator, noon()).unwrap()
}

fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

#[test]
fn a_token_for_an_attempt_names_it() {
    let clock = ManualClock::at(noon());
    let key = key(Issuer::Hypha);
    let verifier = verifier(&[&key], "hypha", &clock);

    let token = key.mint(noon(), wish(Kind::Agent)).unwrap();
    let principal = verifier.verify(&token).unwrap();

    let lease = principal.lease.as_ref().unwrap();
    assert_eq!((lease.task_id.as_str(), lease.epoch), ("r/t", 3));
}

#[test]
fn a_good_token_says_who_calls() {
    let (key, verifier, _) = house();
    let wish = Mint {
        workspaces: vec!["north".to_owned()],
        agents: vec!["a".to_owned(), "b".to_owned()],
        capabilities: vec!["role:writer".to_owned()],
        act: None,
        lease: None,
        fence: None,
        ..wish(Kind::Worker)
    };

    let principal = verifier.verify(&key.mint(noon(), wish).unwrap()).unwrap();

    assert_eq!(principal.subject(), "worker:ada");
    assert_eq!(principal.workspaces, ["north"]);
    assert_eq!(principal.agents, ["a", "b"]);
    assert_eq!(principal.capabilities, ["role:writer"]);
    assert_eq!(principal.act, None);
    assert_eq!(principal.issued_at, noon());
    assert_eq!(principal.expires_at, noon() + TimeDelta::hours(1));
}

#[test]
fn a_token_is_good_until_a_minute_after_its_end() {
    let (key, verifier, clock) = house();
    let token = key.mint(noon(), wish(Kind::Operator)).unwrap();

    clock.advance(TimeDelta::minutes(15) + TimeDelta::seconds(59));
    let late = verifier.verify(&token);
    clock.advance(TimeDelta::seconds(1));
    let expired = verifier.verify(&token).unwrap_err();

    assert!(late.is_ok());
    assert_eq!(expired, TokenError::Expired);
    assert_eq!(cambium_kernel::Failure::reason(&expired), "TOKEN_EXPIRED");
}

#[test]
fn a_token_is_good_from_a_minute_before_its_beginning() {
    let (key, verifier, _) = house();
    let minted = |ahead| {
        key.mint(noon() + TimeDelta::seconds(ahead), wish(Kind::Operator))
            .unwrap()
    };

    assert!(verifier.verify(&minted(60)).is_ok());
    assert_eq!(verifier.verify(&minted(61)), Err(TokenError::NotYetValid));
}

#[test]
fn a_token_for_another_service_is_refused() {
    let (key, verifier, _) = house();
    let audience = vec!["genesis".to_owned(), "hypha2".to_owned()];

    let token = key
        .mint(
            noon(),
            Mint {
                audience,
                ..wish(Kind::Operator)
            },
        )
        .unwrap();

    assert_eq!(verifier.verify(&token), Err(TokenError::WrongAudience));
}

#[test]
fn a_key_that_is_not_in_the_bundle_verifies_nothing() {
    let (_, verifier, _) = house();
    let stranger = SigningKey::generate("stranger", Issuer::Operator).unwrap();
    let double = SigningKey::generate("operator-1", Issuer::Operator).unwrap();

    let unknown = stranger.mint(noon(), wish(Kind::Operator)).unwrap();
    let forged = double.mint(noon(), wish(Kind::Operator)).unwrap();

    assert_eq!(verifier.verify(&unknown), Err(TokenError::UnknownKey));
    assert_eq!(verifier.verify(&forged), Err(TokenError::WrongSignature));
}

#[test]
fn no_algorithm_but_eddsa_is_heard_out() {
    let (key, verifier, _) = house();
    let body = encoded(&serde_json::to_value(claims()).unwrap());
    let unsigned = encoded(&json!({"alg": "none", "kid": "operator-1"}));
    let keyed = encoded(&json!({"alg": "HS256", "kid": "operator-1"}));
    let signed = format!("{keyed}.{body}");
    let secret = URL_SAFE_NO_PAD.decode(key.public().x).unwrap();
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
    let mac = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&secret, signed.as_bytes()));

    assert_eq!(
        verifier.verify(&format!("{unsigned}.{body}.")),
        Err(TokenError::Malformed)
    );
    assert_eq!(
        verifier.verify(&format!("{signed}.{mac}")),
        Err(TokenError::WrongAlgorithm)
    );
}

#[test]
fn what_is_no_token_is_refused() {
    let (_, verifier, _) = house();

    for text in ["", ".", "..", "a.b.c", "a.b.c.d", "\u{1f333}"] {
        assert_eq!(verifier.verify(text), Err(TokenError::Malformed), "{text}");
    }
    let large = "a".repeat(4_097);
    assert_eq!(
        verifier.verify(&large),
        Err(TokenError::TooLarge { bytes: 4_097 })
    );
}

#[test]
fn an_issuer_mints_its_kinds_and_no_other() {
    let may = |issuer, kind| match issuer {
        Issuer::Operator => !matches!(kind, Kind::Service | Kind::Mind),
        Issuer::Enrolment => kind == Kind::Worker,
        Issuer::Genesis | Issuer::Hypha => {
            matches!(kind, Kind::Agent | Kind::Worker | Kind::Service)
        }
        Issuer::Swarm => kind == Kind::Mind,
        Issuer::Service => kind == Kind::Service,
    };
    let clock = ManualClock::at(noon());

    for issuer in Issuer::ALL {
        let key = key(issuer);
        let verifier = verifier(&[&key], "hypha", &clock);
        for kind in Kind::ALL {
            let mut claims = claims();
            claims.iss = issuer.as_str().to_owned();
            claims.sub = format!("{kind}:ada");
            claims.exp = claims.iat + 60;
            let forced = verifier.verify(&key.sign(&claims).unwrap());

            let refused = TokenError::MayNotMint { issuer, kind };
            assert_eq!(
                key.mint(noon(), wish(kind)).is_ok(),
                may(issuer, kind),
                "{issuer} {kind}"
            );
            assert_eq!(forced.is_ok(), may(issuer, kind), "{issuer} {kind}");
            assert!(
                may(issuer, kind) || forced == Err(refused),
                "{issuer} {kind}"
            );
        }
    }
}

#[test]
fn an_operator_makes_an_agents_token_only_in_somebodys_name() {
    let (key, _, _) = house();

    for act in [None, Some(String::new())] {
        let refused = key
            .mint(
                noon(),
                Mint {
                    act,
                    ..wish(Kind::Agent)
                },
            )
            .unwrap_err();

        let expected = TokenError::MayNotMint {
            issuer: Issuer::Operator,
            kind: Kind::Agent,
        };
        assert_eq!(refused, expected);
    }
}

#[test]
fn no_token_lives_longer_than_its_kind_may() {
    let (key, verifier, _) = house();
    let limit = TimeDelta::minutes(15);
    let life = limit + TimeDelta::seconds(1);
    let mut long = claims();
    long.exp += 1;

    let minted = key.mint(
        noon(),
        Mint {
            ttl: life,
            ..wish(Kind::Operator)
        },
    );
    let never = key.mint(
        noon(),
        Mint {
            ttl: TimeDelta::zero(),
            ..wish(Kind::Operator)
        },
    );
    let forced = verifier.verify(&key.sign(&long).unwrap());

    let refused = TokenError::WrongLife {
        kind: Kind::Operator,
        life,
        limit,
    };
    assert_eq!(minted, Err(refused.clone()));
    assert!(matches!(never, Err(TokenError::WrongLife { .. })));
    assert_eq!(forced, Err(refused));
}

#[test]
fn claims_that_do_not_fit_together_are_refused_though_signed() {
    let (key, verifier, _) = house();
    let judged = |change: fn(&mut Claims)| {
        let mut claims = claims();
        change(&mut claims);
        verifier.verify(&key.sign(&claims).unwrap()).unwrap_err()
    };

    assert_eq!(
        judged(|claims| claims.iss = "service".to_owned()),
        TokenError::WrongIssuer
    );
    assert_eq!(judged(|claims| claims.jti.clear()), TokenError::Malformed);
    assert_eq!(
        judged(|claims| claims.sub = "ada".to_owned()),
        TokenError::WrongSubject
    );
    assert_eq!(
        judged(|claims| claims.sub = "queen:ada".to_owned()),
        TokenError::WrongSubject
    );
    assert!(matches!(
        judged(|claims| claims.sub = "operator:".to_owned()),
        TokenError::WrongName(_)
    ));
    assert_eq!(
        judged(|claims| claims.exp = i64::MAX),
        TokenError::Malformed
    );
    assert_eq!(
        judged(|claims| claims.exp = i64::MIN),
        TokenError::Malformed
    );
}

#[test]
fn what_was_verified_is_remembered_until_its_end_and_no_longer() {
    let (key, verifier, clock) = house();
    let ttl = TimeDelta::seconds(30);
    let token = key
        .mint(
            noon(),
            Mint {
                ttl,
                ..wish(Kind::Operator)
            },
        )
        .unwrap();

    let first = verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::seconds(29));
    let within = verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::seconds(1));
    let after = verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::seconds(60));

    assert!(Arc::ptr_eq(&first, &within));
    assert!(!Arc::ptr_eq(&first, &after));
    assert_eq!(verifier.verify(&token), Err(TokenError::Expired));
}

#[test]
fn what_was_verified_is_remembered_for_a_minute_at_most() {
    let (key, verifier, clock) = house();
    let token = key.mint(noon(), wish(Kind::Operator)).unwrap();

    let first = verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::seconds(59));
    let within = verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::seconds(1));
    let after = verifier.verify(&token).unwrap();

    assert!(Arc::ptr_eq(&first, &within));
    assert!(!Arc::ptr_eq(&first, &after));
}

#[test]
fn a_clock_set_back_makes_nothing_remembered_count() {
    let (key, verifier, clock) = house();
    let token = key.mint(noon(), wish(Kind::Operator)).unwrap();

    verifier.verify(&token).unwrap();
    clock.advance(TimeDelta::minutes(-5));

    assert_eq!(verifier.verify(&token), Err(TokenError::NotYetValid));
}

#[test]
fn keys_and_bundles_come_back_from_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let (key_file, bundle_file) = (
        folder.path().join("a.key"),
        folder.path().join("bundle.json"),
    );
    let key = key(Issuer::Genesis);
    let bundle = Bundle::default().with(key.public());

    key.save(&key_file).unwrap();
    bundle.save(&bundle_file).unwrap();
    let loaded = SigningKey::load(&key_file).unwrap();
    let verifier = Verifier::new(
        Bundle::load(&bundle_file).unwrap(),
        "hypha",
        Arc::new(ManualClock::at(noon())),
    );

    let token = loaded.mint(noon(), wish(Kind::Agent)).unwrap();
    assert_eq!(loaded.public(), key.public());
    assert!(verifier.verify(&token).is_ok());
    for file in [key_file, bundle_file] {
        assert_eq!(
            std::fs::metadata(file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn a_file_that_is_no_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.key");
    std::fs::write(&path, "{}").unwrap();

    let malformed = SigningKey::load(&path).unwrap_err();
    let missing = Bundle::load(&folder.path().join("b")).unwrap_err();

    assert!(matches!(&malformed, KeyError::Malformed { path: named } if *named == path));
    assert!(malformed.to_string().contains("a.key is not a key file"));
    assert!(matches!(missing, KeyError::File { .. }));
}

#[test]
fn a_private_key_does_not_show_itself() {
    let shown = format!("{:?}", key(Issuer::Hypha));

    assert!(shown.contains("hypha-1") && !shown.contains("pkcs8") && !shown.contains("encoding"));
}

proptest! {
    #[test]
    fn a_token_with_one_character_changed_is_refused(at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_-]") {
        let (key, verifier, _) = house();
        let token = key.mint(noon(), wish(Kind::Operator)).unwrap();
        let at = at.index(token.len());
        let changed = format!("{}{with}{}", &token[..at], &token[at + 1..]);
        prop_assume!(changed != token);

        prop_assert!(verifier.verify(&changed).is_err());
    }

    #[test]
    fn a_token_cut_short_is_refused(at in any::<prop::sample::Index>()) {
        let (key, verifier, _) = house();
        let token = key.mint(noon(), wish(Kind::Operator)).unwrap();

        prop_assert!(verifier.verify(&token[..at.index(token.len())]).is_err());
    }
}
