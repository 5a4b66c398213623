//! What is old is forgotten by itself; a log that is replayed keeps where it had come to.

use std::net::SocketAddr;
use std::time::Duration;

use cambium_service_kit::config::Secret;
use cambium_service_kit::shutdown::Stop;
use chrono::TimeDelta;
use swarm_svc::Config;

use crate::fixture::{Fixture, ordinary_dial, start};

/// The loops of a process on the same database.
async fn loops(swarm: &Fixture) -> Stop {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let stop = Stop::new();
    let config = Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(swarm.database.url.as_str()),
        connections: 4,
        key: swarm.keys.swarm(),
        credentials: swarm.keys.credentials("swarm"),
        bundle: swarm.keys.bundle(),
        hypha: None,
        pulse: Some(Duration::from_millis(100)),
    };
    swarm_svc::build(config, stop.clone()).await.unwrap();
    stop
}

async fn texts(swarm: &Fixture, select: &'static str) -> Vec<String> {
    let rows = sqlx::query_scalar(select).fetch_all(&swarm.database.owner);
    rows.await.unwrap()
}

#[tokio::test]
async fn old_rows_go_and_logs_keep_their_base() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open("ada", 1_000_000).await;
    sqlx::raw_sql(
        "UPDATE swarm.timeline_mind SET vtime = 15;
         INSERT INTO swarm.vtime_event (workspace_id, instance, seq, n, kind, before, after, at)
         SELECT 'default', 'ada', swarm.next_seq('default', 'vtime:ada'), swarm.next_seq('default', 'vtime'),
                'charge', 5 * (i - 1), 5 * i, swarm.now()
         FROM generate_series(1, 3) AS i;
         INSERT INTO swarm.inbox (signal_id, type) VALUES (gen_random_uuid(), 'coord.run_settled');",
    )
    .execute(&swarm.database.owner)
    .await
    .unwrap();
    swarm
        .advance(TimeDelta::days(400) + TimeDelta::seconds(1))
        .await;
    swarm.share("ada", 2_000_000).await.unwrap();
    swarm.dial(ordinary_dial()).await;

    let stop = loops(&swarm).await;
    let clock = "SELECT kind || ' ' || seq || ' ' || n || ' ' || before || ' ' || after FROM swarm.vtime_event ORDER BY seq";
    for _ in 0..100 {
        if texts(&swarm, clock).await.len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.stop();

    assert_eq!(texts(&swarm, clock).await, ["base 3 3 15 15"]);
    let actions = texts(&swarm, "SELECT action FROM swarm.audit ORDER BY seq").await;
    assert_eq!(actions, ["SetShare", "SetDial"]);
    let bucket =
        "SELECT kind || ' ' || before || ' ' || after FROM swarm.bucket_event ORDER BY seq";
    assert_eq!(texts(&swarm, bucket).await, ["base 0 0", "dial 0 0"]);
    assert!(
        texts(&swarm, "SELECT type FROM swarm.inbox")
            .await
            .is_empty()
    );
    assert_eq!(
        texts(&swarm, "SELECT scope FROM swarm.receipt").await.len(),
        2
    );
}
