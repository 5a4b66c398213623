//! Shares 2, 1 and 1; dear turns for one mind, cheap ones for two, and one of these asleep for half of the way.

use std::collections::BTreeMap;

use cambium_proto::swarm::v1::Why;
use tonic::Code;

use super::steps::{explain, rich, seat, settle};
use crate::control_steps::{launched, line, remove, share_of};
use crate::fixture::{Fixture, field};

/// A unit of money, in micro-dollars. It is the floor too.
const UNIT: i64 = 1_000;

fn cost(mind: &str) -> i64 {
    if mind == "ada" { 5 * UNIT } else { UNIT }
}

/// Lets minds run until they have spent so much: the order, and what each spent.
async fn run(swarm: &Fixture, money: i64) -> (Vec<String>, BTreeMap<String, i64>) {
    let (mut order, mut spent) = (Vec::new(), BTreeMap::new());
    while spent.values().sum::<i64>() < money {
        let turn = launched(swarm).await;
        let cost = cost(&turn.instance);
        settle(swarm, &turn, cost).await;
        *spent.entry(turn.instance.clone()).or_insert(0) += cost;
        order.push(turn.instance);
    }
    (order, spent)
}

async fn started() -> Fixture {
    let swarm = rich(1).await;
    swarm.open_released("ada", 2_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    swarm.open("cyd", 1_000_000).await;
    swarm
}

/// What the others spend between two turns of a mind, at most.
fn longest_wait(order: &[String], mind: &str) -> i64 {
    let (mut longest, mut wait) = (0, 0);
    for one in order {
        wait = if one == mind { 0 } else { wait + cost(one) };
        longest = longest.max(wait);
    }
    longest
}

fn most_in_a_row(order: &[String], mind: &str) -> usize {
    let runs = order.split(|one| one != mind);
    runs.map(<[String]>::len).max().unwrap_or(0)
}

#[tokio::test]
async fn money_follows_the_shares_and_sleep_earns_no_back_pay() {
    let swarm = started().await;

    let (_, spent) = run(&swarm, 200 * UNIT).await;
    // Two thirds and one third, to s · max(C / s) = 5 and 2.5 units.
    let total: i64 = spent.values().sum();
    assert_eq!(spent.get("cyd"), None);
    assert!(
        (3 * spent["ada"] - 2 * total).abs() <= 3 * 5 * UNIT,
        "{spent:?}"
    );
    assert!(
        (3 * spent["bob"] - total).abs() <= 3 * 5 * UNIT / 2,
        "{spent:?}"
    );

    let before = line(&swarm).await.min_vtime;
    assert!(before > 50 * UNIT && seat(&swarm, "cyd").await.vtime == 0);
    swarm.release("cyd").await;
    let first = launched(&swarm).await;
    let woken = line(&swarm).await;
    let own = seat(&swarm, "cyd").await;
    assert_eq!(own.vtime, before);
    assert_eq!(own.vtime, woken.min_vtime);
    // One turn of ada's moves its clock by 2,500.
    assert!(
        woken
            .minds
            .iter()
            .all(|mind| mind.vtime - own.vtime <= 5 * UNIT / 2)
    );
    settle(&swarm, &first, cost(&first.instance)).await;

    let (order, spent) = run(&swarm, 200 * UNIT).await;
    let total: i64 = spent.values().sum();
    // Half, a quarter and a quarter; both ends of this half may be off by so much.
    assert!(
        (2 * spent["ada"] - total).abs() <= 2 * 10 * UNIT,
        "{spent:?}"
    );
    for mind in ["bob", "cyd"] {
        assert!((4 * spent[mind] - total).abs() <= 4 * 5 * UNIT, "{spent:?}");
        // By law: 2 · 1 + 5 of ada's, and 1 + 1 of the other's.
        assert!(longest_wait(&order, mind) <= 9 * UNIT, "{mind} starves");
    }
    assert!(most_in_a_row(&order, "cyd") <= 3, "cyd catches up");
}

#[tokio::test]
async fn shares_out_of_bounds_change_nothing() {
    let swarm = started().await;
    for bad in [0, -1, i64::MIN, 999, 100_000_001, i64::MAX] {
        let refused = swarm.share("ada", bad).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, "share_ppm"),
            "{bad}"
        );
        let kept = share_of(&swarm, "ada").await.unwrap();
        assert_eq!(kept.share_ppm, 2_000_000, "{bad}");
    }
}

#[tokio::test]
async fn no_share_is_no_turn_and_a_huge_one_starves_nobody() {
    let swarm = started().await;
    swarm.release("cyd").await;
    run(&swarm, 20 * UNIT).await;

    remove(&swarm, "ada").await;
    assert_eq!(explain(&swarm, "ada").await.why(), Why::Share);
    let (order, spent) = run(&swarm, 12 * UNIT).await;
    assert_eq!((order.len(), spent.get("ada")), (12, None));
    assert!((spent["bob"] - spent["cyd"]).abs() <= 3 * UNIT, "{spent:?}");

    swarm.share("ada", 100_000_000).await.unwrap();
    let (order, spent) = run(&swarm, 300 * UNIT).await;
    let total: i64 = spent.values().sum();
    // 100 shares of 102.
    assert!(spent["ada"] * 102 >= (total - 10 * UNIT) * 100, "{spent:?}");
    for mind in ["bob", "cyd"] {
        // By law: 100 · 1 + 5 of ada's, and 1 + 1 of the other's.
        assert!(longest_wait(&order, mind) <= 107 * UNIT, "{mind} starves");
    }
}
