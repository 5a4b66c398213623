use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn agent(n: u8) -> AgentId {
    AgentId::from_uuid(Uuid::from_u128(n.into()))
}

fn member(capabilities: &[&str]) -> Member {
    Member {
        capabilities: capabilities
            .iter()
            .map(|name| Capability::parse(name).unwrap())
            .collect(),
        is_out: false,
    }
}

fn commons(members: &[&[&str]]) -> Commons {
    (0..)
        .zip(members)
        .map(|(n, capabilities)| (agent(n), member(capabilities)))
        .collect()
}

#[test]
fn the_second_of_four_may_go_and_the_third_may_not() {
    let mut four = commons(&[&["write"], &["write"], &["write"], &["write"]]);

    for n in 0..2 {
        assert_eq!(four.bite(agent(n)), None);
        four.take_out(agent(n));
    }

    let bite = four.bite(agent(2)).unwrap();
    assert_eq!((bite.out, bite.sharing), (3, 4));
    assert_eq!(
        bite.to_string(),
        "3 of the 4 who can `write` would be out, and half is the most"
    );
}

#[test]
fn the_only_one_never_goes() {
    let alone = commons(&[&["write", "review"], &["review"]]);

    let bite = alone.bite(agent(0)).unwrap();

    assert_eq!(bite.to_string(), "nobody would be left who can `write`");
    assert_eq!(alone.bite(agent(1)), None);
}

#[test]
fn who_shares_nothing_may_always_go() {
    let one = commons(&[&[]]);

    assert_eq!(one.bite(agent(0)), None);
}

proptest! {
    #[test]
    fn no_interleaving_takes_out_more_than_half(
        able in prop::collection::vec(prop::collection::btree_set(0_u8..4, 0..4), 1..8),
        steps in prop::collection::vec((any::<u8>(), any::<bool>()), 0..60),
    ) {
        let names = ["a", "b", "c", "d"].map(|name| Capability::parse(name).unwrap());
        let mut commons: Commons = (0..).zip(&able).map(|(n, able)| {
            let capabilities = able.iter().map(|c| names[usize::from(*c)].clone()).collect();
            (agent(n), Member { capabilities, is_out: false })
        }).collect();

        for (who, leaves) in steps {
            let who = agent(who % u8::try_from(able.len()).unwrap());
            if !leaves {
                commons.let_in(who);
            } else if commons.bite(who).is_none() {
                commons.take_out(who);
            }

            for capability in &names {
                let sharing: Vec<_> =
                    commons.0.values().filter(|member| member.capabilities.contains(capability)).collect();
                let out = sharing.iter().filter(|member| member.is_out).count();
                prop_assert!(2 * out <= sharing.len());
            }
        }
    }
}
