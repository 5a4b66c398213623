use super::*;

fn mind(name: &str, organ: Organ) -> Principal {
    Principal::Mind(Instance::parse(name).unwrap(), organ)
}

fn of(name: &str) -> Facts {
    Facts {
        mind: Some(Instance::parse(name).unwrap()),
        login_age_s: Some(60),
        ..Facts::default()
    }
}

#[test]
fn leading_changes_two_answers_and_no_other() {
    let eureka = mind("eureka", Organ::Own);
    let mut changed = Vec::new();

    for whose in ["eureka", "weksa"] {
        for action in Action::ALL {
            let facts = of(whose);
            let leading = Facts {
                is_lead: true,
                ..facts.clone()
            };
            if decide(&eureka, *action, &facts) != decide(&eureka, *action, &leading) {
                changed.push((whose, *action));
            }
        }
    }

    assert_eq!(
        changed,
        [
            ("eureka", Action::OpenQuestion),
            ("eureka", Action::RouteWork),
            ("weksa", Action::RouteWork),
        ]
    );
}

#[test]
fn no_mind_writes_anything_of_another_but_a_citation_work_and_a_proposal() {
    let allowed =
        |action: &&Action| decide(&mind("eureka", Organ::Persona), **action, &of("weksa")).is_ok();

    let allowed: Vec<Action> = Action::ALL.iter().filter(allowed).copied().collect();

    assert_eq!(
        allowed,
        [
            Action::Read,
            Action::Watch,
            Action::Health,
            Action::ProposeMind,
            Action::Cite,
            Action::SubmitWork,
        ]
    );
}

#[test]
fn nobody_but_scheduler_and_meter_launches_or_charges() {
    let facts = Facts {
        is_lead: true,
        body: Some("w1".to_owned()),
        agent: Some("a".to_owned()),
        ..of("eureka")
    };
    let others = [
        Principal::Operator("ada".to_owned()),
        mind("eureka", Organ::Persona),
        Principal::Agent("a".to_owned()),
        Principal::Worker("w1".to_owned()),
        Principal::Service("hypha".to_owned()),
        Principal::Viewer("sam".to_owned()),
        Principal::Anonymous,
    ];

    for action in [Action::Launch, Action::UpdateTimeline, Action::RecordCharge] {
        for principal in &others {
            assert!(
                decide(principal, action, &facts).is_err(),
                "{principal:?} {action:?}"
            );
        }
    }
}

#[test]
fn an_old_login_may_hold_a_brake_and_not_release_it() {
    let ada = Principal::Operator("ada".to_owned());
    let old = Facts {
        login_age_s: Some(301),
        ..of("weksa")
    };

    assert!(decide(&ada, Action::HoldBrake, &old).is_ok());
    assert_eq!(
        decide(&ada, Action::ReleaseBrake, &old),
        Err(Error::Denied(Denial::StepUp))
    );
}

#[test]
fn facts_that_nobody_filled_in_allow_nothing_of_ones_own() {
    let facts = Facts::default();

    for action in [
        Action::LendShare,
        Action::PutPersona,
        Action::HoldTurn,
        Action::WithdrawWork,
    ] {
        for principal in [
            mind("eureka", Organ::Persona),
            Principal::Worker("w".to_owned()),
            Principal::Agent("a".to_owned()),
        ] {
            assert!(decide(&principal, action, &facts).is_err());
        }
    }
}
