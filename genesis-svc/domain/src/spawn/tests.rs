use super::*;

fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::hours(1)
}

fn parent() -> Parent {
    Parent {
        state: State::Active,
        is_quarantined: false,
        generation: 0,
        live_children: 0,
        ever: 0,
    }
}

fn under(parent: Parent) -> Result<u32, Error> {
    let ground = Ground {
        in_window: 0,
        oldest_in_window: None,
        live_agents: 0,
        parent: Some(parent),
    };
    admit(&ground, Limits::MOST, now())
}

fn crowded(live_agents: u32, in_window: u32) -> Result<u32, Error> {
    let ground = Ground {
        in_window,
        oldest_in_window: Some(now() - TimeDelta::seconds(45)),
        live_agents,
        parent: None,
    };
    admit(&ground, Limits::MOST, now())
}

#[test]
fn a_line_ends_with_its_eighth_generation() {
    let of = |generation| {
        under(Parent {
            generation,
            ..parent()
        })
    };

    assert_eq!(of(0), Ok(1));
    assert_eq!(of(7), Ok(8));
    assert_eq!(of(8), Err(Error::Generation { limit: 8 }));
}

#[test]
fn a_parent_has_ten_children_at_once_and_a_thousand_in_its_life() {
    let with = |live_children, ever| {
        under(Parent {
            live_children,
            ever,
            ..parent()
        })
    };

    assert_eq!(with(9, 999), Ok(1));
    assert_eq!(with(10, 999), Err(Error::Children { limit: 10 }));
    assert_eq!(with(0, 1_000), Err(Error::Lifetime { limit: 1_000 }));
}

#[test]
fn a_template_has_a_hundred_agents_at_once() {
    assert_eq!(crowded(99, 0), Ok(0));
    assert_eq!(crowded(100, 0), Err(Error::TemplateFull { limit: 100 }));
}

#[test]
fn the_sixty_first_of_a_minute_waits_for_the_first_to_be_a_minute_old() {
    let wait = Duration::from_secs(15);

    assert_eq!(crowded(0, 59), Ok(0));
    assert_eq!(crowded(0, 60), Err(Error::SpawnRate { limit: 60, wait }));
}

#[test]
fn whoever_leaves_or_is_in_quarantine_has_no_children() {
    let gone = |state| under(Parent { state, ..parent() });
    let held = Parent {
        is_quarantined: true,
        ..parent()
    };

    assert_eq!(gone(State::Draining), Err(Error::ParentRetired));
    assert_eq!(gone(State::Retired), Err(Error::ParentRetired));
    assert_eq!(under(held), Err(Error::ParentQuarantined));
}
