//! Generosity: what is credited, what is not, and what is said of it.

use cambium_proto::immune::v1::{
    Badge, GenerosityAction, RecordConsumptionRequest, RecordContributionRequest,
    RecordKnowledgeShareRequest, ScoreKind,
};
use tonic::{Code, Response};
use uuid::Uuid;

use crate::fixture::{self, field, reason};
use crate::told::{again, agents, at, dead_end, noon, on, placed, spawned, thanks};

fn contribution(giver: Uuid, receiver: Uuid, cause: &str) -> RecordContributionRequest {
    RecordContributionRequest {
        workspace_id: "default".to_owned(),
        cause_id: cause.to_owned(),
        agent_id: giver.to_string(),
        receiver_agent_id: receiver.to_string(),
        workflow_run_id: String::new(),
        occur_time: Some(at(noon())),
        reason: String::new(),
    }
}

fn consumption(agent: Uuid, cause: &str) -> RecordConsumptionRequest {
    RecordConsumptionRequest {
        workspace_id: "default".to_owned(),
        cause_id: cause.to_owned(),
        agent_id: agent.to_string(),
        workflow_run_id: String::new(),
        occur_time: None,
        reason: String::new(),
    }
}

#[tokio::test]
async fn a_gift_a_dead_end_and_shared_knowledge_move_the_score_by_the_seeds_numbers() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();

    fixture
        .deliver(&[
            thanks(ada, bob),
            placed(ada, "knowledge.pattern"),
            dead_end(ada),
        ])
        .await;

    let ledger = fixture.ledger(ada, ScoreKind::Generosity).await;
    let steps: Vec<_> = ledger
        .iter()
        .map(|entry| (entry.event.as_str(), entry.delta, entry.after))
        .collect();
    assert_eq!(
        steps,
        [
            ("contribution", 0.03, 0.53),
            ("knowledge_share", 0.02, 0.55),
            ("consumption", -0.02, 0.53),
        ]
    );
    assert_eq!(ledger[0].counterpart_agent_id, bob.to_string());
    assert_eq!(fixture.standing(ada).await.generosity, 0.53);
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn only_knowledge_of_agents_is_shared() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let mut nobodys = placed(ada, "knowledge.pattern");
    if let Some(cambium_proto::signal::v1::signal::Payload::MarkerPlaced(marker)) =
        &mut nobodys.payload
    {
        marker.agent_id.clear();
    }

    fixture
        .deliver(&[placed(ada, "danger.fire"), nobodys])
        .await;

    assert_eq!(fixture.count("ledger").await, 0);
    assert_eq!(fixture.count("standing").await, 0);
}

#[tokio::test]
async fn a_fact_told_twice_counts_once_whoever_tells_it() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let gift = thanks(ada, bob);
    let Some(cambium_proto::signal::v1::signal::Payload::Gratitude(payload)) = &gift.payload else {
        panic!("it is a gratitude");
    };
    let cause = format!(
        "gratitude:{}:{}:{}",
        payload.workflow_run_id, payload.from_task_id, payload.to_task_id
    );

    fixture.deliver(&[gift.clone(), again(&gift)]).await;
    fixture.deliver(&[gift.clone(), again(&gift)]).await;
    let mut hypha = fixture.generosity();
    let told = hypha
        .record_contribution(contribution(ada, bob, &cause))
        .await
        .unwrap()
        .into_inner();

    assert_eq!(told.generosity, 0.53);
    assert_eq!(fixture.ledger(ada, ScoreKind::Generosity).await.len(), 1);
}

#[tokio::test]
async fn thanking_oneself_is_written_down_and_earns_nothing() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    fixture.deliver(&[thanks(ada, ada)]).await;

    let [row] = fixture
        .ledger(ada, ScoreKind::Generosity)
        .await
        .try_into()
        .unwrap();
    assert_eq!((row.delta, row.after), (0.0, 0.5));
    assert!(row.reason.contains("own output"), "{}", row.reason);
}

#[tokio::test]
async fn a_pair_is_credited_three_times_a_utc_day() {
    let fixture = fixture::start().await;
    let [ada, bob, cy] = agents();
    let next_day = noon() + 86_400;
    let gifts: Vec<_> = (0..5).map(|_| thanks(ada, bob)).collect();

    fixture.deliver(&gifts).await;
    fixture
        .deliver(&[on(thanks(ada, bob), next_day), thanks(ada, cy)])
        .await;

    let ledger = fixture.ledger(ada, ScoreKind::Generosity).await;
    let deltas: Vec<f64> = ledger.iter().map(|entry| entry.delta).collect();
    assert_eq!(deltas, [0.03, 0.03, 0.03, 0.0, 0.0, 0.03, 0.03]);
    assert!(
        ledger[3].reason.contains("3 credited"),
        "{}",
        ledger[3].reason
    );
}

#[tokio::test]
async fn shares_are_credited_fifty_times_a_day() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let shares: Vec<_> = (0..52).map(|_| placed(ada, "knowledge.warning")).collect();

    fixture.deliver(&shares).await;

    let ledger = fixture.ledger(ada, ScoreKind::Generosity).await;
    assert_eq!(ledger.len(), 52);
    assert_eq!(ledger.iter().filter(|entry| entry.delta > 0.0).count(), 50);
}

#[tokio::test]
async fn a_ring_that_thanks_itself_gains_less_than_an_honest_agent() {
    let fixture = fixture::start().await;
    let [honest, ring @ ..] = agents::<5>();
    // Each of the four thanks each of the others, a thousand times a pair.
    for _ in 0..20 {
        let pairs = ring.iter().flat_map(|from| {
            let others = ring.iter().filter(move |to| *to != from);
            others.map(move |to| (*from, *to))
        });
        let thanked: Vec<_> = pairs
            .flat_map(|(from, to)| (0..50).map(move |_| thanks(from, to)))
            .collect();
        fixture.deliver(&thanked).await;
    }
    let others: [Uuid; 12] = agents();
    let gifts: Vec<_> = others.iter().map(|other| thanks(honest, *other)).collect();

    fixture.deliver(&gifts).await;

    for agent in ring {
        assert!(fixture.standing(agent).await.generosity <= 0.80);
    }
    assert_eq!(fixture.standing(honest).await.generosity, 0.86);
    assert_eq!(fixture.count("ledger").await, 12_012);
    fixture.check_ledgers().await;
}

#[tokio::test]
async fn a_fall_below_a_quarter_is_hoarding_and_says_how_far() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let mut hypha = fixture.generosity();

    let mut actions = Vec::new();
    for n in 0..14 {
        let request = consumption(ada, &format!("dead_end:{n}"));
        let told = hypha
            .record_consumption(request)
            .await
            .unwrap()
            .into_inner();
        actions.push(told.action());
    }
    let repeated = hypha
        .record_consumption(consumption(ada, "dead_end:12"))
        .await;

    assert!(
        actions[..12]
            .iter()
            .all(|action| *action == GenerosityAction::None)
    );
    assert!(
        actions[12..]
            .iter()
            .all(|action| *action == GenerosityAction::HoardingDetected)
    );
    // The answer of the first time.
    let repeated = repeated.unwrap().into_inner();
    assert_eq!(repeated.action(), GenerosityAction::HoardingDetected);
    assert_eq!(repeated.generosity, 0.24);
    let heard: Vec<i32> = sqlx::query_scalar(
        "SELECT intensity FROM immune.heard WHERE signal_type = 'stress.context_hoarding' ORDER BY occurred_at",
    )
    .fetch_all(fixture.owner())
    .await
    .unwrap();
    assert_eq!(heard, [40_000, 120_000]);
    let badges: Vec<Badge> = fixture.standing(ada).await.badges().collect();
    assert_eq!(badges, [Badge::Hoarding]);
}

#[tokio::test]
async fn hoarding_is_logged_from_half_an_intensity_on_and_costs_no_trust() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let dead_ends: Vec<_> = (0..19).map(|_| dead_end(ada)).collect();

    fixture.deliver(&dead_ends).await;

    // 0.5 - 19 x 0.02 = 0.12: an intensity of 0.52, the first one of at least a half.
    let [anomaly] = fixture.anomalies().await.try_into().unwrap();
    assert_eq!(anomaly.rule_id, "context-hoarding");
    assert!(fixture.all_alerts().await.is_empty());
    assert_eq!(fixture.standing(ada).await.trust, 0.5);
    assert!(!fixture.is_out(ada).await);
}

#[tokio::test]
async fn an_operator_records_with_a_reason_that_stays() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let mut operator = fixture.generosity_as(&fixture.keys.operator());
    let before = fixture.everything().await;

    let mute = operator
        .record_contribution(contribution(ada, bob, "by hand"))
        .await
        .unwrap_err();
    assert_eq!(
        (mute.code(), field(&mute).as_str()),
        (Code::InvalidArgument, "reason")
    );
    assert_eq!(fixture.everything().await, before);
    let spoken = RecordContributionRequest {
        reason: "it wrote the index".to_owned(),
        ..contribution(ada, bob, "by hand")
    };
    operator.record_contribution(spoken).await.unwrap();

    let [row] = fixture
        .ledger(ada, ScoreKind::Generosity)
        .await
        .try_into()
        .unwrap();
    assert_eq!(row.reason, "operator:ada: it wrote the index");
}

#[tokio::test]
async fn an_agent_that_nobody_knows_is_not_opened_by_a_call() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    let before = fixture.everything().await;

    let mut hypha = fixture.generosity();
    let gift = hypha.record_contribution(contribution(ada, bob, "c")).await;
    let end = hypha.record_consumption(consumption(ada, "c")).await;

    for refused in [
        gift.map(Response::into_inner).map(drop).unwrap_err(),
        end.map(drop).unwrap_err(),
    ] {
        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(reason(&refused), "AGENT_UNKNOWN");
    }
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn each_record_is_for_its_own_service() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;
    let before = fixture.everything().await;
    let share = RecordKnowledgeShareRequest {
        workspace_id: "default".to_owned(),
        cause_id: "marker:1".to_owned(),
        agent_id: ada.to_string(),
        occur_time: None,
        reason: String::new(),
    };
    let (hypha, stigmergy) = (
        fixture.keys.service("hypha"),
        fixture.keys.service("stigmergy"),
    );

    let refused = [
        fixture
            .generosity_as(&stigmergy)
            .record_contribution(contribution(ada, bob, "c"))
            .await
            .map(drop),
        fixture
            .generosity_as(&stigmergy)
            .record_consumption(consumption(ada, "c"))
            .await
            .map(drop),
        fixture
            .generosity_as(&hypha)
            .record_knowledge_share(share.clone())
            .await
            .map(drop),
    ];

    for refused in refused {
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    }
    assert_eq!(fixture.everything().await, before);
    let told = fixture
        .generosity_as(&stigmergy)
        .record_knowledge_share(share)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(told.generosity, 0.52);
}

#[tokio::test]
async fn records_that_meet_are_each_answered() {
    let fixture = fixture::start().await;
    let [ada, stranger] = agents();
    fixture.deliver(&[spawned(ada, "ada", &["write"])]).await;

    let calls = (0..60).map(|n| {
        let (mut hypha, receiver) = (fixture.generosity(), Uuid::now_v7());
        let giver = if n % 10 == 0 { stranger } else { ada };
        tokio::spawn(async move {
            let request = contribution(giver, receiver, &format!("gift:{n}"));
            hypha.record_contribution(request).await.is_ok()
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut answered = Vec::new();
    for call in calls {
        answered.push(call.await.unwrap());
    }

    assert_eq!(answered.iter().filter(|is_ok| **is_ok).count(), 54);
    assert_eq!(fixture.ledger(ada, ScoreKind::Generosity).await.len(), 54);
    fixture.check_ledgers().await;
}
