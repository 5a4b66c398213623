//! Minds as people meet them: the demo, and one more mind, which is a birth and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use cambium_proto::swarm::v1::{Period, SetDialRequest, SetWalletRequest};
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::wait_until;
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool};
use tempfile::TempDir;
use uuid::Uuid;

use crate::house::pair::Pair;
use crate::schedulers::desk::{Desk, WORKSPACE};
use crate::stage::{Said, cambium};

/// For a whole stack to start, play and stop on a machine that is busy.
const DEMO: Duration = Duration::from_secs(180);
const STEP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_demo_of_minds_shows_what_each_spent_against_its_share() {
    let home = TempDir::new().unwrap();

    let said = cambium(home.path(), &["demo", "--swarm", "--json"], DEMO).await;

    let shown = said.well().json();
    let swarm = &shown["swarm"];
    let number = |value: &Value| value.as_i64().unwrap();
    assert_eq!(swarm["turns"], 60, "{swarm}");
    assert_eq!(swarm["max_live"], 1, "{swarm}");
    assert_eq!(swarm["violations"], 0, "{swarm}");
    assert_eq!(swarm["wallet"]["reserved_micro_usd"], 0, "{swarm}");
    assert_eq!(
        swarm["wallet"]["spent_micro_usd"], swarm["spent_micro_usd"],
        "{swarm}"
    );
    let minds = swarm["minds"].as_array().unwrap();
    let shares: Vec<i64> = minds
        .iter()
        .map(|mind| number(&mind["share_ppm"]))
        .collect();
    assert_eq!(shares, [4_000_000, 2_000_000, 1_000_000], "{swarm}");
    let spent: i64 = minds
        .iter()
        .map(|mind| number(&mind["spent_micro_usd"]))
        .sum();
    assert_eq!(spent, number(&swarm["spent_micro_usd"]), "{swarm}");
    // I-W4: of what its share entitles it to, a mind is off by no more than its share of the dearest turn for its share.
    let dearest_turn = 36_000;
    for mind in minds {
        let off = number(&mind["spent_micro_usd"]) - number(&mind["entitled_micro_usd"]);
        let bound = number(&mind["share_ppm"]) / 1_000_000 * dearest_turn;
        assert!(off.abs() <= bound, "{mind}: {off} of {bound}");
    }
}

/// Asks a scheduler as its operator would from elsewhere.
struct Operator {
    home: TempDir,
    url: String,
}

impl Operator {
    fn of(pair: &Pair) -> Self {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("token"), pair.keys.operator()).unwrap();
        Self {
            home,
            url: pair.url(0),
        }
    }

    async fn ask(&self, words: &[&str]) -> Said {
        let token = self.home.path().join("token").display().to_string();
        let place = ["--server", &self.url, "--token-file", &token, "--json"];
        cambium(self.home.path(), &[words, &place].concat(), STEP).await
    }

    /// The one command that is a birth.
    async fn bear(&self, mind: &str) {
        let words = [
            "mind",
            "open",
            mind,
            "--target",
            "body:desk",
            "--share",
            "1",
            "--wakes",
            "always",
            "--release",
        ];
        let born = self.ask(&words).await.well().json();
        assert_eq!(born["mind"]["instance"], mind, "{born}");
    }
}

async fn set_wallet(pair: &Pair, limit: i64) {
    let request = SetWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: Uuid::new_v4().to_string(),
        limit_micro_usd: Some(limit),
        period: Period::Month.into(),
    };
    let door = pair.door(0, &pair.keys.operator());
    door.control().set_wallet(request).await.unwrap();
}

async fn set_dial(pair: &Pair) {
    let request = SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: Uuid::new_v4().to_string(),
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 10_000_000_000,
        base_run_micro_usd: 50_000,
        k: 2,
        ..SetDialRequest::default()
    };
    let door = pair.door(0, &pair.keys.operator());
    door.control().set_dial(request).await.unwrap();
}

/// Every row that names a mind other than this one, table by table.
async fn rows_of_others(books: &PgPool, mind: &str) -> BTreeMap<String, Vec<String>> {
    let columns: Vec<(String, String)> = sqlx::query_as(
        "SELECT c.table_name::text, c.column_name::text
         FROM information_schema.columns c
         JOIN information_schema.tables t USING (table_schema, table_name)
         WHERE c.table_schema = 'swarm' AND t.table_type = 'BASE TABLE'
             AND c.column_name IN ('instance', 'holder', 'lender')",
    )
    .fetch_all(books)
    .await
    .unwrap();
    let mut rows = BTreeMap::new();
    for (table, column) in columns {
        let sql = format!(
            "SELECT t::text FROM swarm.\"{table}\" t WHERE t.{column} <> $1 ORDER BY t::text"
        );
        let found = sqlx::query_scalar(AssertSqlSafe(sql)).bind(mind);
        rows.insert(
            format!("{table}.{column}"),
            found.fetch_all(books).await.unwrap(),
        );
    }
    rows
}

async fn turns_of(pair: &Pair, mind: &str) -> i64 {
    let sql = "SELECT count(*) FROM swarm.charge c JOIN swarm.turn t USING (workspace_id, turn_id) WHERE t.instance = $1";
    let turns = sqlx::query_scalar(sql).bind(mind);
    turns.fetch_one(&pair.books).await.unwrap()
}

async fn quiet(pair: &Pair) {
    wait_until(
        STEP,
        "no turn lives, and nobody is to be looked at",
        async || {
            let busy =
                "SELECT (SELECT count(*) FROM swarm.turn WHERE state IN ('granted', 'running'))
            + (SELECT count(*) FROM swarm.launch WHERE due_at <= swarm.now())";
            let busy: i64 = sqlx::query_scalar(busy)
                .fetch_one(&pair.books)
                .await
                .unwrap();
            busy == 0
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_more_mind_is_a_birth_and_nothing_else() {
    let pair = Pair::open().await;
    let operator = Operator::of(&pair);
    set_wallet(&pair, 0).await;
    set_dial(&pair).await;
    let stop = Stop::new();
    let desk = Desk::sit(&pair, 0, 1, &stop);
    let mut limit = 0;

    for number in 1..=10 {
        let mind = format!("mind-{number}");
        let before = rows_of_others(&pair.books, &mind).await;
        operator.bear(&mind).await;
        let mut after = rows_of_others(&pair.books, &mind).await;
        if number == 2 {
            // Only the second birth gives the first mind's rulings their review dates; here there are none.
            after.remove("review.holder");
        }
        for (table, rows) in &before {
            let now = after.get(table).unwrap_or(rows);
            assert_eq!(now, rows, "{table} at the birth of {mind}");
        }
        // While there is money, the new mind takes its turns, and so do the others; then all is quiet for the next birth.
        if [2, 3, 10].contains(&number) {
            limit += 1_500_000;
            let others: Vec<i64> = vec![turns_of(&pair, "mind-1").await];
            set_wallet(&pair, limit).await;
            wait_until(STEP, "the new mind and the first take turns", async || {
                turns_of(&pair, &mind).await > 0 && turns_of(&pair, "mind-1").await > others[0]
            })
            .await;
            set_wallet(&pair, 0).await;
            quiet(&pair).await;
        }
    }

    stop.stop();
    assert!(desk.rise().await > 0);
}
