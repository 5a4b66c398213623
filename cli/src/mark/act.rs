//! What changes a mark.

use cambium_proto::stigmergy::v1::{
    Marker, PlaceMarkerRequest, ReinforceMarkerRequest, TransformMarkerRequest,
};
use chrono::TimeDelta;

use super::which::Which;
use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::table::moment;
use crate::{clock, file};

/// Leave a mark in a region
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mark place repo/docs knowledge.pattern --payload '{\"use\":\"short words\"}'\n  cambium mark place repo/build danger.flaky --intensity 0.8 --half-life 10m --json"
)]
pub(super) struct Place {
    /// A path, as in `repo/docs`: at most 16 segments of `a-z0-9_-`
    region: String,
    /// Its first word is path, resource, quality, danger, opportunity or knowledge
    #[arg(value_name = "TYPE")]
    kind: String,
    /// JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// From 0 to 1; over 0.8 it is kept as 0.8 [default: 0.5]
    #[arg(long, value_name = "X")]
    intensity: Option<f64>,
    /// In which it loses half its intensity, as in 120, 10m or 2d [default: the category's]
    #[arg(long, value_name = "TIME", value_parser = clock::span)]
    half_life: Option<TimeDelta>,
}

pub(super) async fn place(args: Place, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let half_life = args.half_life.map(|span| i32::try_from(span.num_seconds()));
    let request = PlaceMarkerRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        region: args.region,
        r#type: args.kind,
        intensity: args.intensity,
        // Whatever is too long for the field is too long for the service too.
        half_life_s: half_life.map(|seconds| seconds.unwrap_or(i32::MAX)),
        payload: payload(args.payload.as_deref())?,
    };
    let reply = ask!(connection, markers.place_marker(request))?;
    context.print(&reply, |reply| {
        told("placed", &reply.marker.clone().unwrap_or_default())
    })?;
    if reply.faded {
        hint("so low an intensity has faded at once: nobody will sense it");
    }
    if reply.capped {
        hint("no mark is louder than 0.8: so loud it was placed");
    }
    Ok(Exit::Done)
}

/// Make a mark stronger and begin its fading anew
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mark reinforce repo/docs")]
pub(super) struct Reinforce {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn reinforce(args: Reinforce, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ReinforceMarkerRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        marker_id: args.which.id(&connection, context).await?,
    };
    let reply = ask!(connection, markers.reinforce_marker(request))?;
    context.print(&reply, |reply| {
        told("reinforced", &reply.marker.clone().unwrap_or_default())
    })?;
    Ok(Exit::Done)
}

/// Build on a mark of somebody else: replace what it carries, and join its lineage
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mark transform repo/docs --payload @better.json --as ada"
)]
pub(super) struct Transform {
    #[command(flatten)]
    which: Which,
    /// JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    payload: String,
    /// Only if it still has this version
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    expected_version: i64,
}

pub(super) async fn transform(args: Transform, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = TransformMarkerRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        marker_id: args.which.id(&connection, context).await?,
        payload: payload(Some(&args.payload))?,
        expected_version: args.expected_version,
    };
    let reply = ask!(connection, markers.transform_marker(request))?;
    context.print(&reply, |reply| {
        let marker = reply.marker.clone().unwrap_or_default();
        let depth = marker.transformation_depth;
        told(&format!("transformed, depth {depth},"), &marker)
    })?;
    hint(&format!(
        "next: cambium mark lineage {}{}",
        reply.marker.unwrap_or_default().marker_id,
        context.globals.again()
    ));
    Ok(Exit::Done)
}

fn payload(text: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let payload = text.map(file::json).transpose()?;
    Ok(payload.unwrap_or_default().into())
}

fn told(what: &str, marker: &Marker) -> String {
    format!(
        "{what} {} in {}: {} {}, fades at {}",
        marker.r#type,
        marker.region,
        bar(marker.current_intensity),
        marker.marker_id,
        moment(marker.fade_time.as_ref()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_with_its_intensity_and_its_end() {
        let marker = Marker {
            marker_id: "m1".to_owned(),
            region: "repo/docs".to_owned(),
            r#type: "knowledge.pattern".to_owned(),
            current_intensity: 0.5,
            fade_time: Some(prost_types::Timestamp::default()),
            ..Marker::default()
        };

        assert_eq!(
            told("placed", &marker),
            "placed knowledge.pattern in repo/docs: █████░░░░░ 0.50 m1, fades at 1970-01-01T00:00:00Z"
        );
    }
}
