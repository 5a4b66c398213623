//! Who is spawned without a learning, so that somebody stays who can confirm it from a life without it.
//! No dice: anybody can work out again who was left out of what.

use cambium_kernel::{AgentId, Score};

use crate::LearningId;

/// The share of spawns that go without each learning, unless their template says otherwise.
pub const SHARE: Score = Score::of::<100_000>();

/// Whether this agent is spawned without that learning. Of a larger share nobody falls out again.
#[must_use]
pub fn is_held_out(agent: AgentId, learning: LearningId, share: Score) -> bool {
    let draw = (u128::from(hash(agent, learning)) * 1_000_000) >> 64;
    draw < u128::from(share.as_millionths().unsigned_abs())
}

/// FNV-1a with a finish that spreads it over all bits: ids made in one millisecond differ in few.
fn hash(agent: AgentId, learning: LearningId) -> u64 {
    let (agent, learning) = (agent.as_uuid(), learning.as_uuid());
    let bytes = agent.as_bytes().iter().chain(learning.as_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn agent(n: u128) -> AgentId {
        AgentId::from_uuid(Uuid::from_u128(n))
    }

    fn learning(n: u128) -> LearningId {
        LearningId::from_uuid(Uuid::from_u128(n))
    }

    #[test]
    fn nobody_is_held_out_of_a_share_of_nothing_and_everybody_of_one() {
        for n in 0..1_000 {
            let none = Score::from_millionths(0).unwrap();

            assert!(!is_held_out(agent(n), learning(7), none));
            assert!(is_held_out(agent(n), learning(7), Score::ONE));
        }
    }

    proptest! {
        #[test]
        fn the_draw_is_the_same_every_time_and_grows_with_the_share(
            one: u128, two: u128, low in 0..=1_000_000, high in 0..=1_000_000
        ) {
            let share = |n: i32| Score::from_millionths(n).unwrap();
            let is_out = |n: i32| is_held_out(agent(one), learning(two), share(n));

            prop_assert_eq!(is_out(low), is_out(low));
            prop_assert!(!is_out(low.min(high)) || is_out(low.max(high)));
        }

        #[test]
        fn about_the_share_goes_without(from: u64, to: u128, share in 0..=1_000_000) {
            let of = Score::from_millionths(share).unwrap();

            let out = (0..4_000).filter(|n| is_held_out(agent(u128::from(from) + n), learning(to), of)).count();

            // Five deviations at most: 5 * sqrt(4000 / 4).
            let expected = f64::from(share) / 1e6 * 4_000.0;
            prop_assert!((out as f64 - expected).abs() < 160.0, "{out} of 4000 at {share}");
        }
    }
}
