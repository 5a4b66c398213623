//! Rules: what fires them, what follows, and trying them on the past.

use cambium_proto::immune::v1::dry_run_rule_request::Which;
use cambium_proto::immune::v1::{
    DryRunRuleRequest, DryRunRuleResponse, ListAnomaliesRequest, ListRulesRequest, PutRuleRequest,
    PutRuleResponse, Rule, RuleResponse, ScoreKind,
};
use cambium_proto::signal::v1::{Signal, TaskOutcome};
use prost_types::Duration as Length;
use tonic::{Code, Response, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, field, reason};
use crate::told::{agents, dead_end, limited, noon, on, settled, spawned, thanks};

async fn rules(fixture: &Fixture) -> Vec<Rule> {
    let request = ListRulesRequest {
        workspace_id: "default".to_owned(),
    };
    let reply = fixture.rules().list_rules(request).await.unwrap();
    reply.into_inner().rules
}

async fn rule(fixture: &Fixture, id: &str) -> Rule {
    let rules = rules(fixture).await;
    rules.into_iter().find(|rule| rule.rule_id == id).unwrap()
}

async fn put(fixture: &Fixture, rule: Rule) -> Result<PutRuleResponse, Status> {
    let request = PutRuleRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        rule: Some(rule),
    };
    let reply = fixture.rules().put_rule(request).await;
    reply.map(Response::into_inner)
}

async fn try_out(fixture: &Fixture, which: Which) -> Result<DryRunRuleResponse, Status> {
    let request = DryRunRuleRequest {
        workspace_id: "default".to_owned(),
        // What was told happened at some noon, which may be a while from now.
        hours: 720,
        which: Some(which),
    };
    let reply = fixture.rules().dry_run_rule(request).await;
    reply.map(Response::into_inner)
}

/// Two dead ends within a minute.
fn loafers() -> Rule {
    Rule {
        rule_id: "loafers".to_owned(),
        signal_type: "coord.dead_end".to_owned(),
        threshold: 0.0,
        severity: 1.0,
        response: RuleResponse::Alert.into(),
        window: Some(Length {
            seconds: 60,
            nanos: 0,
        }),
        min_count: 2,
        of_last: 0,
        dry_run: false,
        enabled: true,
        built_in: false,
        version: 0,
    }
}

type Spoil = fn(&mut Rule);

fn stale(agent: Uuid) -> Signal {
    settled(agent, TaskOutcome::Stale)
}

#[tokio::test]
async fn four_rules_are_built_in() {
    let fixture = fixture::start().await;

    let rules = rules(&fixture).await;

    let shown: Vec<_> = rules
        .iter()
        .map(|rule| (rule.rule_id.as_str(), rule.response(), rule.min_count))
        .collect();
    assert_eq!(
        shown,
        [
            ("context-hoarding", RuleResponse::Log, 1),
            ("failure-burst", RuleResponse::Alert, 10),
            ("fenced-writes", RuleResponse::Alert, 3),
            ("marker-spam", RuleResponse::Quarantine, 5),
        ]
    );
    assert!(
        rules
            .iter()
            .all(|rule| rule.built_in && rule.enabled && rule.version == 0)
    );
    assert_eq!(rules[1].of_last, 20);
    assert_eq!((rules[0].threshold, rules[0].severity), (0.5, 0.5));
}

#[tokio::test]
async fn ten_failures_of_twenty_raise_an_alert_and_cost_trust() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let outcomes = (0..20).map(|n| {
        if n % 2 == 0 {
            TaskOutcome::Succeeded
        } else {
            TaskOutcome::InvalidOutput
        }
    });

    for outcome in outcomes {
        fixture.deliver(&[settled(ada, outcome)]).await;
    }

    let [alert] = fixture.all_alerts().await.try_into().unwrap();
    assert_eq!(alert.source, "failure-burst");
    assert_eq!(alert.agent_name, "ada");
    assert_eq!(
        alert.text,
        "agent `ada`: `task.failed` 10 times in the last 20 settlements"
    );
    let [anomaly] = fixture.anomalies().await.try_into().unwrap();
    assert!(anomaly.detail.ends_with("an alert was raised"));
    let ledger = fixture.ledger(ada, ScoreKind::Trust).await;
    let last = ledger.last().unwrap();
    assert_eq!((last.event.as_str(), last.delta), ("anomaly", -0.05));
    assert_eq!(last.cause_id, format!("anomaly:{}", anomaly.anomaly_id));
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn three_stale_completions_in_five_minutes_fire_once_for_each_agent() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();

    fixture
        .deliver(&[
            on(stale(ada), noon()),
            on(stale(ada), noon() + 299),
            on(stale(bob), noon()),
            on(stale(bob), noon() + 200),
        ])
        .await;
    assert!(fixture.anomalies().await.is_empty());
    fixture
        .deliver(&[on(stale(ada), noon() + 300), on(stale(bob), noon() + 501)])
        .await;

    let [anomaly] = fixture.anomalies().await.try_into().unwrap();
    assert_eq!(
        (anomaly.rule_id.as_str(), anomaly.agent_id.as_str()),
        ("fenced-writes", ada.to_string().as_str())
    );
}

#[tokio::test]
async fn a_signal_of_tomorrow_puts_none_of_today_out_of_its_window() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let now = noon() + 2 * 86_400;

    fixture
        .deliver(&[on(stale(ada), now + 86_400), on(stale(ada), now)])
        .await;
    fixture.deliver(&[on(stale(ada), now + 9_999)]).await;

    // All three count as of now.
    assert_eq!(fixture.anomalies().await.len(), 1);
}

#[tokio::test]
async fn spam_puts_in_quarantine() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[
            spawned(ada, "ada", &["write"]),
            spawned(bob, "bob", &["write"]),
        ])
        .await;

    let spam: Vec<_> = (0..5).map(|_| limited(ada)).collect();
    fixture.deliver(&spam[..4]).await;
    assert!(!fixture.is_out(ada).await);
    fixture.deliver(&spam[4..]).await;

    assert!(fixture.is_out(ada).await);
    let standing = fixture.standing(ada).await;
    assert_eq!(
        standing.quarantine_reason,
        "`stress.rate_limited` 5 times within 600 s"
    );
    let more: Vec<_> = (0..5).map(|_| limited(ada)).collect();
    fixture.deliver(&more).await;
    let anomalies = fixture.anomalies().await;
    assert!(anomalies[0].detail.ends_with("in quarantine already"));
    assert_eq!(fixture.count("quarantine").await, 1);
}

#[tokio::test]
async fn a_rule_of_ones_own_fires_like_the_others() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    let put = put(&fixture, loafers()).await.unwrap().rule.unwrap();
    fixture.deliver(&[dead_end(ada), dead_end(ada)]).await;

    assert_eq!(put.version, 1);
    assert!(!put.built_in);
    let [alert] = fixture.all_alerts().await.try_into().unwrap();
    assert_eq!((alert.source.as_str(), alert.severity), ("loafers", 1.0));
    assert_eq!(fixture.standing(ada).await.trust, 0.4);
}

#[tokio::test]
async fn a_dry_rule_writes_its_anomalies_and_does_nothing_else() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let dry = Rule {
        dry_run: true,
        response: RuleResponse::Quarantine.into(),
        ..loafers()
    };

    put(&fixture, dry).await.unwrap();
    fixture.deliver(&[dead_end(ada), dead_end(ada)]).await;

    let [anomaly] = fixture.anomalies().await.try_into().unwrap();
    assert!(anomaly.dry_run);
    assert!(anomaly.detail.ends_with("dry run: nothing was done"));
    assert!(fixture.all_alerts().await.is_empty());
    assert!(!fixture.is_out(ada).await);
    assert_eq!(fixture.standing(ada).await.trust, 0.5);
}

#[tokio::test]
async fn a_built_in_rule_can_be_switched_off() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let off = Rule {
        enabled: false,
        ..rule(&fixture, "marker-spam").await
    };

    let put = put(&fixture, off).await.unwrap().rule.unwrap();
    let spam: Vec<_> = (0..10).map(|_| limited(ada)).collect();
    fixture.deliver(&spam).await;

    assert!(put.built_in && !put.enabled && put.version == 1);
    assert_eq!(rule(&fixture, "marker-spam").await, put);
    assert!(fixture.anomalies().await.is_empty());
}

#[tokio::test]
async fn a_dry_run_counts_what_was_kept_and_changes_nothing() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let dead_ends: Vec<_> = (0..5)
        .map(|_| dead_end(ada))
        .chain([dead_end(bob), dead_end(bob)])
        .collect();
    fixture.deliver(&dead_ends).await;
    let before = fixture.everything().await;

    let given = try_out(&fixture, Which::Rule(loafers())).await.unwrap();
    let stored = try_out(&fixture, Which::RuleId("marker-spam".to_owned()))
        .await
        .unwrap();

    assert_eq!(
        (given.firings, given.summary.as_str()),
        (3, "would have fired 3 times")
    );
    let agents: Vec<_> = given
        .agents
        .iter()
        .map(|agent| (agent.agent_name.as_str(), agent.firings))
        .collect();
    assert_eq!(agents, [("ada", 2), ("", 1)]);
    assert_eq!(stored.summary, "would have fired 0 times");
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_dry_run_counts_settlements_too() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let failures: Vec<_> = (0..12).map(|_| settled(ada, TaskOutcome::Failed)).collect();
    fixture.deliver(&failures).await;
    let strict = Rule {
        min_count: 4,
        of_last: 5,
        ..rule(&fixture, "failure-burst").await
    };

    let tried = try_out(&fixture, Which::Rule(strict)).await.unwrap();

    assert_eq!(tried.summary, "would have fired 3 times");
}

#[tokio::test]
async fn a_version_that_has_moved_is_not_replaced() {
    let fixture = fixture::start().await;
    put(&fixture, loafers()).await.unwrap();
    let before = fixture.everything().await;

    let refused = put(&fixture, loafers()).await.unwrap_err();

    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::Aborted, "VERSION_MOVED")
    );
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn what_is_no_rule_is_refused_by_the_name_of_its_field() {
    let fixture = fixture::start().await;
    let before = fixture.everything().await;
    let bad: [(&str, Spoil); 13] = [
        ("rule.rule_id", |rule| rule.rule_id = "No Rule".to_owned()),
        ("rule.rule_id", |rule| rule.rule_id.clear()),
        ("rule.signal_type", |rule| {
            rule.signal_type = "deadend".to_owned()
        }),
        ("rule.threshold", |rule| rule.threshold = 1.1),
        ("rule.threshold", |rule| rule.threshold = f64::NAN),
        ("rule.severity", |rule| rule.severity = -0.1),
        ("rule.response", |rule| rule.response = 0),
        ("rule.response", |rule| rule.response = 99),
        ("rule.window", |rule| rule.window = None),
        ("rule.window", |rule| {
            rule.window = Some(Length {
                seconds: 86_401,
                nanos: 0,
            });
        }),
        ("rule.min_count", |rule| rule.min_count = 0),
        ("rule.min_count", |rule| rule.min_count = -3),
        ("rule.of_last", |rule| rule.of_last = 5),
    ];

    for (name, spoil) in bad {
        let mut rule = loafers();
        spoil(&mut rule);
        let refused = put(&fixture, rule.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(field(&refused), name);
        let refused = try_out(&fixture, Which::Rule(rule)).await.unwrap_err();
        assert_eq!(field(&refused), name);
    }
    let unknown = try_out(&fixture, Which::RuleId("no-such".to_owned())).await;
    assert_eq!(unknown.unwrap_err().code(), Code::NotFound);

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_dry_run_looks_back_a_month_at_most() {
    let fixture = fixture::start().await;

    for hours in [0, -1, 721] {
        let request = DryRunRuleRequest {
            workspace_id: "default".to_owned(),
            hours,
            which: Some(Which::RuleId("marker-spam".to_owned())),
        };
        let refused = fixture.rules().dry_run_rule(request).await.unwrap_err();
        assert_eq!(field(&refused), "hours");
    }
}

#[tokio::test]
async fn anomalies_are_listed_by_agent_and_page() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    put(&fixture, loafers()).await.unwrap();
    for n in 0..3 {
        let signals = [ada, ada, bob, bob].map(|agent| on(dead_end(agent), noon() + n * 1_000));
        fixture.deliver(&signals).await;
    }

    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListAnomaliesRequest {
            workspace_id: "default".to_owned(),
            agent_id: ada.to_string(),
            page_size: 2,
            page_token: token,
        };
        let page = fixture
            .rules()
            .list_anomalies(request)
            .await
            .unwrap()
            .into_inner();
        seen.extend(page.anomalies);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    let times: Vec<i64> = seen
        .iter()
        .map(|one| one.occur_time.unwrap().seconds - noon())
        .collect();
    assert_eq!(times, [2_000, 1_000, 0]);
    assert!(seen.iter().all(|one| one.agent_id == ada.to_string()));
    assert_eq!(fixture.anomalies().await.len(), 6);
}

#[tokio::test]
async fn what_many_do_often_is_kept_only_while_a_rule_counts_it() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[thanks(ada, bob), settled(ada, TaskOutcome::Succeeded)])
        .await;
    assert_eq!(fixture.count("heard").await, 0);
    let grateful = Rule {
        rule_id: "grateful".to_owned(),
        signal_type: "coord.gratitude".to_owned(),
        min_count: 100,
        ..loafers()
    };

    put(&fixture, grateful).await.unwrap();
    fixture.deliver(&[thanks(ada, bob)]).await;

    assert_eq!(fixture.count("heard").await, 1);
}
