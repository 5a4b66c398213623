//! `cambium minds`: which minds there are, and how each stands on the timeline.

use std::collections::BTreeMap;

use cambium_client::Connection;
use cambium_proto::swarm::v1::{
    GetTimelineRequest, ListMindsRequest, ListMindsResponse, Mind, MindState, TimelineMind, Wakes,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use crate::ask::ask;
use crate::context::{Context, emit};
use crate::exit::Exit;
use crate::json::{self, word};
use crate::page::{Page, more};
use crate::table::table;
use crate::{millionths, money, target};

/// List minds by name, with what each has used of its share
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium minds\n  cambium minds --state awake --json")]
pub(crate) struct Args {
    #[arg(long, value_parser = state())]
    state: Option<MindState>,
    /// Print names alone, for a shell that completes them
    #[arg(long, hide = true)]
    names: bool,
    #[command(flatten)]
    page: Page,
}

/// As [`shown_state`] says it.
fn state() -> impl TypedValueParser<Value = MindState> {
    let words = [
        "proposed",
        "declined",
        "asleep",
        "awake",
        "resting",
        "in-session",
        "acting",
        "retired",
        "moved",
    ];
    PossibleValuesParser::new(words).map(|word| {
        MindState::from_str_name(&json::value(&word, "MIND_STATE_")).unwrap_or_default()
    })
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListMindsRequest {
        workspace_id: context.workspace(),
        page_size: args.page.page_size,
        page_token: args.page.page_token,
        state: args.state.unwrap_or_default().into(),
    };
    let reply = ask!(connection, minds.list_minds(request))?;
    if args.names {
        reply.minds.iter().for_each(|mind| emit(&mind.instance));
        return Ok(Exit::Done);
    }
    more(&reply.next_page_token, "cambium minds", context);
    let places = places(&connection, context).await?;
    let document = with_places(&reply, &places)?;
    context.print_value(&document, |_| told(&reply.minds, &places))?;
    Ok(Exit::Done)
}

type Places = BTreeMap<String, TimelineMind>;

/// Where each mind stands on the timeline.
async fn places(connection: &Connection, context: &Context) -> anyhow::Result<Places> {
    let request = GetTimelineRequest {
        workspace_id: context.workspace(),
    };
    let reply = ask!(connection, timeline.get_timeline(request))?;
    let minds = reply.minds.into_iter();
    Ok(minds.map(|mind| (mind.instance.clone(), mind)).collect())
}

/// The reply, with a `timeline` in each mind that is on it.
fn with_places(reply: &ListMindsResponse, places: &Places) -> anyhow::Result<Value> {
    let mut document = json::document(reply)?;
    let minds = document["minds"].as_array_mut().into_iter().flatten();
    for (shown, mind) in minds.zip(&reply.minds) {
        if let Some(place) = places.get(&mind.instance) {
            shown["timeline"] = json::document(place)?;
        }
    }
    Ok(document)
}

fn told(minds: &[Mind], places: &Places) -> String {
    let head = [
        "name", "state", "share", "haste", "vtime", "wakes", "target", "title",
    ];
    let rows = minds.iter().map(|mind| {
        let place = places.get(&mind.instance);
        let dash = || "-".to_owned();
        [
            mind.instance.clone(),
            stands(mind),
            share(mind.share_ppm),
            place.map_or_else(dash, |place| haste(place.haste_ppm)),
            place.map_or_else(dash, |place| money::dollars(place.vtime)),
            wakes(mind),
            target::shown(mind.target.as_ref()),
            mind.display_name.clone(),
        ]
    });
    table(head, rows)
}

/// Its state, and what else its operator should know at a glance.
pub(crate) fn stands(mind: &Mind) -> String {
    let mut parts = vec![shown_state(mind.state())];
    if mind.is_lead {
        parts.push("lead".to_owned());
    }
    if mind.retirement_asked_at.is_some() {
        parts.push("asks to retire".to_owned());
    }
    parts.join(", ")
}

pub(crate) fn shown_state(state: MindState) -> String {
    word(state.as_str_name(), "MIND_STATE_")
}

pub(crate) fn wakes(mind: &Mind) -> String {
    match mind.wakes() {
        Wakes::Unspecified => "-".to_owned(),
        wakes => word(wakes.as_str_name(), "WAKES_"),
    }
}

/// A weight, or a dash for a mind without one.
pub(crate) fn share(ppm: i64) -> String {
    match ppm {
        0 => "-".to_owned(),
        ppm => millionths::shown(ppm, 0),
    }
}

/// A factor, or a dash where none holds.
pub(crate) fn haste(ppm: i64) -> String {
    match ppm {
        0 | 1_000_000 => "-".to_owned(),
        ppm => format!("×{}", millionths::shown(ppm, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> ListMindsResponse {
        let mind = |name: &str, state: MindState| Mind {
            instance: name.to_owned(),
            state: state.into(),
            ..Mind::default()
        };
        let eureka = Mind {
            share_ppm: 2_000_000,
            is_lead: true,
            wakes: Wakes::Always.into(),
            target: Some(target::read("body:desk").unwrap()),
            display_name: "Eureka".to_owned(),
            ..mind("eureka", MindState::InSession)
        };
        ListMindsResponse {
            minds: vec![eureka, mind("weksa", MindState::Proposed)],
            next_page_token: String::new(),
        }
    }

    fn places() -> Places {
        let place = TimelineMind {
            instance: "eureka".to_owned(),
            vtime: 12_500,
            haste_ppm: 1_500_000,
            ..TimelineMind::default()
        };
        Places::from([("eureka".to_owned(), place)])
    }

    #[test]
    fn a_mind_is_a_row_and_one_off_the_timeline_has_dashes() {
        let told = told(&reply().minds, &places());

        let rows: Vec<&str> = told.lines().collect();
        assert!(
            rows[1]
                .starts_with("eureka  in session, lead  2      ×1.5   $0.0125  always  body:desk"),
            "{told}"
        );
        assert!(
            rows[2].starts_with("weksa   proposed          -      -      -"),
            "{told}"
        );
    }

    #[test]
    fn its_place_stands_in_each_mind_that_has_one() {
        let document = with_places(&reply(), &places()).unwrap();

        assert_eq!(document["minds"][0]["timeline"]["vtime"], "12500");
        assert_eq!(document["minds"][1].get("timeline"), None);
    }
}
