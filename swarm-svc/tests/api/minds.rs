//! Births: a name is given once, and one more mind is a birth and nothing else.

use cambium_proto::swarm::v1::{
    DeclineMindRequest, Fresh, GetMindRequest, GetPersonaRequest, ListPersonaVersionsRequest, Mind,
    MindState, OpenMindRequest, PersonaState, ProposeMindRequest,
};
use tonic::{Code, Status};

use crate::fixture::{
    Fixture, WORKSPACE, field, opening, ordinary_dial, reason, request_id, start,
};

pub(crate) fn proposal(mind: &str) -> ProposeMindRequest {
    ProposeMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        display_name: "Eureka".to_owned(),
        mission: "To find.".to_owned(),
        target: None,
    }
}

impl Fixture {
    pub(crate) async fn mind(&self, mind: &str) -> Result<Mind, Status> {
        let request = GetMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            instance: mind.to_owned(),
        };
        let found = self.minds().get_mind(request).await?;
        Ok(found.into_inner().mind.unwrap())
    }

    pub(crate) async fn shown(&self, mind: &str) -> MindState {
        self.mind(mind).await.unwrap().state()
    }

    pub(crate) async fn bear(&self, request: OpenMindRequest) -> Result<Mind, Status> {
        let born = self.minds().open_mind(request).await?;
        Ok(born.into_inner().mind.unwrap())
    }

    async fn decline(&self, mind: &str) -> Result<MindState, Status> {
        let request = DeclineMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            reason: "Not now.".to_owned(),
        };
        let declined = self.minds().decline_mind(request).await?;
        Ok(declined.into_inner().mind.unwrap().state())
    }

    /// A digest of every row that is another mind's, table by table.
    async fn rows_of_others(&self, mind: &str) -> Vec<(String, Option<String>)> {
        let tables: Vec<(String, String)> = sqlx::query_as(
            "SELECT table_name::text, column_name::text FROM information_schema.columns c
             JOIN information_schema.tables t USING (table_schema, table_name)
             WHERE table_schema = 'swarm' AND table_type = 'BASE TABLE' AND column_name IN ('instance', 'holder')
               AND table_name NOT IN ('event', 'audit')
             ORDER BY 1, 2",
        )
        .fetch_all(&self.database.owner)
        .await
        .unwrap();
        assert!(tables.len() > 10);
        let mut digests = Vec::new();
        for (table, column) in tables {
            let digest = format!(
                "SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM swarm.{table} t WHERE {column} <> $1"
            );
            let digest = sqlx::query_scalar(sqlx::AssertSqlSafe(digest)).bind(mind);
            let digest = digest.fetch_one(&self.database.owner).await.unwrap();
            digests.push((table, digest));
        }
        digests
    }
}

#[tokio::test]
async fn a_proposal_reserves_a_name_until_it_is_declined() {
    let swarm = start().await;

    let proposed = swarm.minds().propose_mind(proposal("eureka")).await;
    let proposed = proposed.unwrap().into_inner().mind.unwrap();
    assert_eq!(proposed.state(), MindState::Proposed);
    assert_eq!(proposed.proposed_by, "operator:ada");

    let again = swarm.minds().propose_mind(proposal("eureka")).await;
    let again = again.unwrap_err();
    assert_eq!(again.code(), Code::AlreadyExists);
    assert_eq!(reason(&again), "SLUG_TAKEN");
    assert_eq!(swarm.decline("eureka").await.unwrap(), MindState::Declined);
    assert_eq!(swarm.decline("eureka").await.unwrap(), MindState::Declined);
    assert!(swarm.minds().propose_mind(proposal("eureka")).await.is_ok());
    assert_eq!(
        swarm.decline("nobody").await.unwrap_err().code(),
        Code::NotFound
    );
}

#[tokio::test]
async fn a_mind_is_born_asleep_with_who_it_is_in_its_record() {
    let swarm = start().await;
    swarm
        .minds()
        .propose_mind(proposal("eureka"))
        .await
        .unwrap();
    let mut birth = opening("eureka");
    birth.display_name = String::new();
    birth.mission = String::new();

    let born = swarm.bear(birth.clone()).await.unwrap();

    assert_eq!(born.state(), MindState::Asleep);
    assert_eq!(
        (born.display_name.as_str(), born.mission.as_str()),
        ("Eureka", "To find.")
    );
    assert_eq!((born.share_ppm, born.is_lead), (0, false));
    let identity = swarm.document("eureka:identity:1").await;
    assert_eq!((identity.seq, identity.in_force), (1, true));
    assert_eq!(identity.author, "operator:ada");
    assert_eq!(swarm.bear(birth.clone()).await.unwrap(), born);
    birth.host = "there".to_owned();
    assert_eq!(
        reason(&swarm.bear(birth).await.unwrap_err()),
        "REQUEST_ID_REUSED"
    );
    let twice = swarm.bear(opening("eureka")).await.unwrap_err();
    assert_eq!(
        (twice.code(), reason(&twice).as_str()),
        (Code::AlreadyExists, "SLUG_TAKEN")
    );
    assert_eq!(
        swarm.decline("eureka").await.unwrap_err().code(),
        Code::FailedPrecondition
    );
}

#[tokio::test]
async fn what_is_not_of_its_form_opens_nothing() {
    let swarm = start().await;
    type Spoil = fn(&mut OpenMindRequest);
    let cases: [(&str, Spoil); 5] = [
        ("instance", |birth| birth.instance = "Eureka".to_owned()),
        ("display_name", |birth| birth.display_name = "--".to_owned()),
        ("mission", |birth| birth.mission = String::new()),
        ("host", |birth| birth.host = "a\nb".to_owned()),
        ("fresh.public_name", |birth| {
            birth.fresh = Some(Fresh::default())
        }),
    ];

    for (name, spoil) in cases {
        let mut birth = opening("eureka");
        spoil(&mut birth);
        let refused = swarm.bear(birth).await.unwrap_err();

        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, name)
        );
    }
    assert_eq!(
        swarm.mind("eureka").await.unwrap_err().code(),
        Code::NotFound
    );
    let eve = swarm.keys.viewer();
    let denied = swarm.minds_bearing(&eve).open_mind(opening("eureka")).await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_fresh_mind_has_the_persona_that_its_operator_says() {
    let swarm = start().await;
    let mut birth = opening("eureka");
    birth.fresh = Some(Fresh {
        public_name: "Eureka".to_owned(),
        public_description: String::new(),
        voice_summary: "Dry.".to_owned(),
    });

    swarm.bear(birth).await.unwrap();

    let persona = GetPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: "eureka".to_owned(),
        version: 0,
    };
    let persona = swarm
        .personas()
        .get_persona(persona)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (persona.state(), persona.version),
        (PersonaState::Stored, 1)
    );
    let list = ListPersonaVersionsRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: "eureka".to_owned(),
        ..ListPersonaVersionsRequest::default()
    };
    let list = swarm.personas().list_persona_versions(list).await.unwrap();
    let receipt = &list.into_inner().versions[0];
    assert_eq!(
        (receipt.author.as_str(), receipt.faculty.as_str()),
        ("operator:ada", "birth")
    );
    assert_eq!(receipt.sha256, persona.sha256);
}

#[tokio::test]
async fn one_more_mind_is_a_birth_and_nothing_else() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    for n in 1..=10 {
        let mind = format!("m{n:02}");
        let before = swarm.rows_of_others(&mind).await;

        swarm.open_released(&mind, 1_000_000).await;

        if n > 2 {
            assert_eq!(swarm.rows_of_others(&mind).await, before);
        }
        assert_eq!(swarm.shown(&mind).await, MindState::Awake);
    }
}

#[tokio::test]
async fn of_two_who_open_one_name_at_once_one_does() {
    let swarm = start().await;

    let (one, two) = tokio::join!(swarm.bear(opening("eureka")), swarm.bear(opening("eureka")));

    let refused = [one, two].into_iter().filter_map(Result::err);
    let refused: Vec<String> = refused.map(|status| reason(&status)).collect();
    assert_eq!(refused, ["SLUG_TAKEN"]);
}
