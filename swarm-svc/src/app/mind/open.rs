//! A mind's birth: identity document, held brake, its row on the timeline, and the persona that its operator says, in one transaction.
//! Touches no row of another mind, but for the review dates that the second birth brings.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::member::{Agenda, Wakes};
use cambium_swarm::mind::{Profile, State};
use cambium_swarm::persona::{Fresh, born};
use cambium_swarm::record::{Author, Document, Kind};
use cambium_swarm::target::Target;
use cambium_swarm::timeline::Seat;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use super::look;
use crate::app::{About, App, record};
use crate::error::Error;
use crate::store::mind::{self, Mind};
use crate::store::persona::{self, New};
use crate::store::{brake, launch, timeline};

/// What an operator says of a new mind. A text that is empty is the proposal's.
pub(crate) struct Birth {
    pub(crate) instance: Instance,
    pub(crate) display_name: String,
    pub(crate) mission: String,
    pub(crate) host: String,
    pub(crate) target: Option<Target>,
    pub(crate) wakes: Wakes,
    pub(crate) fresh: Option<wire::Fresh>,
}

impl App {
    pub(crate) async fn open_mind(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        birth: &Birth,
    ) -> Result<wire::OpenMindResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let instance = &birth.instance;
        if let Some(reply) = change.admit(Action::OpenMind, Some(instance)).await? {
            return Ok(reply);
        }
        mind::lock_names(change.conn(), workspace).await?;
        let known = mind::find(change.conn(), workspace, instance).await?;
        let open = mind::open_count(change.conn(), workspace).await?;
        State::open(known.as_ref().map(|mind| mind.state), open)?;
        let proposal = known.filter(|mind| mind.state == State::Proposed);
        let now = change.now().await?;
        let mind = opened(birth, proposal, change.author(), now);
        let host = mind.host.as_deref().unwrap_or_default();
        let profile = Profile {
            display_name: &mind.display_name,
            mission: &mind.mission,
            host: Some(host),
        };
        profile.check()?;
        let signed = change.signed();
        let document = identity(&mind, 1, now)?;
        let documents = vec![document];
        record::write(
            change.conn(),
            workspace,
            documents,
            &Author::Operator,
            &signed,
        )
        .await?;
        let by = change.author();
        bear(change.conn(), workspace, &mind, birth.wakes, &by).await?;
        if let Some(fresh) = &birth.fresh {
            give(change.conn(), workspace, instance, (fresh, now), &by).await?;
        }
        record::second_mind(change.conn(), workspace, now.date_naive()).await?;
        let shown = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(
            instance,
            json!({"host": host, "fresh": birth.fresh.is_some()}),
        );
        change
            .finish(wire::OpenMindResponse { mind: shown }, about)
            .await
    }
}

/// What is given out, with what the proposal said where that is silent.
fn opened(birth: &Birth, proposal: Option<Mind>, author: String, now: DateTime<Utc>) -> Mind {
    let said = |text: &str, proposed: Option<&String>| match (text, proposed) {
        ("", Some(proposed)) => proposed.clone(),
        (text, _) => text.to_owned(),
    };
    let before = proposal.as_ref();
    Mind {
        instance: birth.instance.clone(),
        display_name: said(&birth.display_name, before.map(|mind| &mind.display_name)),
        mission: said(&birth.mission, before.map(|mind| &mind.mission)),
        host: Some(birth.host.clone()),
        state: State::Open,
        target: birth
            .target
            .clone()
            .or_else(|| before.and_then(|mind| mind.target.clone())),
        proposed_by: proposal.map_or(author, |mind| mind.proposed_by),
        reason: String::new(),
        opened_at: Some(now),
        closed_at: None,
        moved_to: None,
    }
}

/// Who a mind is and where it lives: the n-th such document of its record.
pub(crate) fn identity(mind: &Mind, n: usize, now: DateTime<Utc>) -> Result<Document, Error> {
    let holder = mind.instance.clone();
    let id = format!("{holder}:{}:{n}", Kind::Identity);
    let payload: Map<String, Value> = [
        ("instance", holder.to_string()),
        ("display_name", mind.display_name.clone()),
        (
            "created_at",
            now.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        ),
        ("host", mind.host.clone().unwrap_or_default()),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text.into()))
    .collect();
    Ok(Document::new(holder, Kind::Identity, &id, payload)?)
}

/// The rows with which a mind begins: asleep, without a share, at the least vtime.
pub(crate) async fn bear(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Mind,
    wakes: Wakes,
    by: &str,
) -> Result<(), Error> {
    let instance = &mind.instance;
    mind::put(conn, workspace, mind).await?;
    let agenda = Agenda {
        wakes,
        ..Agenda::default()
    };
    mind::put_agenda(conn, workspace, instance, &agenda, None).await?;
    launch::insert(conn, workspace, instance).await?;
    let held = std::slice::from_ref(instance);
    brake::hold(conn, workspace, held, "It was opened.", by).await?;
    let seat = Seat {
        vtime: timeline::min_vtime(conn, workspace).await?,
        is_member: false,
    };
    let row = timeline::Row { seat, eff_ppm: 0 };
    timeline::put(conn, workspace, &BTreeMap::from([(instance.clone(), row)])).await
}

/// The persona of a mind that brings none, by its operator's word.
async fn give(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
    (fresh, now): (&wire::Fresh, DateTime<Utc>),
    by: &str,
) -> Result<(), Error> {
    let fresh = Fresh {
        public_name: &fresh.public_name,
        public_description: &fresh.public_description,
        voice_summary: &fresh.voice_summary,
    };
    let born = born(instance, fresh, now)?;
    let new = New::first(&born, "birth", by);
    persona::insert(conn, workspace, instance, &new).await?;
    Ok(())
}
