//! What only reads marks. A payload is shown as it is: data, whatever it says.

use cambium_proto::stigmergy::v1::{
    GetLineageRequest, GetMarkerRequest, ListRegionsRequest, Marker, PayloadVersion,
    RegionGradient, SenseGradientRequest, SenseMarkersRequest, SenseOrder,
};

use super::which::Which;
use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::file;
use crate::names::Names;
use crate::table::{moment, table};

/// Of a payload, in a table.
const SHOWN: usize = 60;

/// List the live marks of a region, the strongest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mark sense repo/docs\n  cambium mark sense repo --below --category knowledge --category danger --newest\n  cambium mark sense repo --below --type knowledge.pattern --min-intensity 0.2 --limit 10 --json"
)]
pub(super) struct Sense {
    /// A path; with --below it may be left out, for everywhere
    #[arg(default_value = "", hide_default_value = true)]
    region: String,
    /// Also the regions under it
    #[arg(long)]
    below: bool,
    /// Only of this category; repeat for more
    #[arg(long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Only of this whole type; repeat for more
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only those at least so strong [default: 0.05]
    #[arg(long, value_name = "X")]
    min_intensity: Option<f64>,
    /// Only those whose payload holds this: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: i32,
    /// The newest first
    #[arg(long)]
    newest: bool,
    /// Also marks that an agent in quarantine left or changed
    #[arg(long)]
    include_quarantined: bool,
}

pub(super) async fn sense(args: Sense, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let filter = args.payload.as_deref().map(file::json).transpose()?;
    let order = if args.newest {
        SenseOrder::Newest
    } else {
        SenseOrder::Intensity
    };
    let request = SenseMarkersRequest {
        workspace_id: context.workspace(),
        region: args.region,
        below: args.below,
        categories: args.categories,
        types: args.types,
        min_intensity: args.min_intensity,
        payload_filter: filter.unwrap_or_default().into(),
        limit: args.limit,
        order: order.into(),
        include_quarantined: args.include_quarantined,
    };
    let reply = ask!(connection, markers.sense_markers(request))?;
    let names = names(context, reply.markers.iter()).await?;
    context.print(&reply, |reply| listed(&reply.markers, &names))?;
    if reply.more && !context.globals.json {
        hint(
            "there are more: raise --limit (at most 500) or --min-intensity, or name what you look for",
        );
    }
    Ok(Exit::Done)
}

/// What the placers and transformers are called; for programs nobody is asked.
async fn names(context: &Context, markers: impl Iterator<Item = &Marker>) -> anyhow::Result<Names> {
    if context.globals.json {
        return Ok(Names::default());
    }
    let connection = context.connection().await?;
    let ids = markers.flat_map(|marker| {
        let transformers = marker.transformed_by.iter().map(String::as_str);
        transformers.chain([marker.placed_by.as_str()])
    });
    Ok(Names::of(&connection, &context.workspace(), ids).await)
}

fn listed(markers: &[Marker], names: &Names) -> String {
    let head = [
        "intensity",
        "type",
        "region",
        "by",
        "depth",
        "trust",
        "payload",
        "marker",
    ];
    let rows = markers.iter().map(|marker| {
        let by = names.name(&marker.placed_by);
        [
            bar(marker.current_intensity),
            marker.r#type.clone(),
            marker.region.clone(),
            if marker.quarantined {
                format!("{by}, quarantined")
            } else {
                by.to_owned()
            },
            marker.transformation_depth.to_string(),
            format!("{:.2}", marker.trust),
            shown(&marker.payload),
            marker.marker_id.clone(),
        ]
    });
    table(head, rows)
}

/// The beginning of a payload, on one line.
fn shown(payload: &[u8]) -> String {
    if payload.is_empty() {
        return "-".to_owned();
    }
    let text = String::from_utf8_lossy(payload);
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    console::truncate_str(&line, SHOWN, "…").into_owned()
}

/// Show one mark
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mark show repo/docs")]
pub(super) struct Show {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn show(args: Show, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = GetMarkerRequest {
        workspace_id: context.workspace(),
        marker_id: args.which.id(&connection, context).await?,
    };
    let reply = ask!(connection, markers.get_marker(request))?;
    let names = names(context, reply.marker.iter()).await?;
    context.print(&reply, |reply| {
        one(&reply.marker.clone().unwrap_or_default(), &names)
    })?;
    Ok(Exit::Done)
}

fn one(marker: &Marker, names: &Names) -> String {
    let transformers: Vec<&str> = marker
        .transformed_by
        .iter()
        .map(|id| names.name(id))
        .collect();
    let mut lines = vec![
        ("region", marker.region.clone()),
        ("intensity", bar(marker.current_intensity)),
        ("half-life", crate::clock::length(marker.half_life_s.into())),
        ("placed by", names.name(&marker.placed_by).to_owned()),
        ("placed", moment(marker.place_time.as_ref())),
        ("refreshed", moment(marker.refresh_time.as_ref())),
        ("fades", moment(marker.fade_time.as_ref())),
        ("trust", bar(marker.trust)),
        ("version", marker.version.to_string()),
    ];
    if !transformers.is_empty() {
        lines.push(("built on by", transformers.join(", ")));
    }
    if marker.quarantined {
        lines.push(("quarantined", "left out of what others sense".to_owned()));
    }
    if !marker.payload.is_empty() {
        lines.push((
            "payload",
            String::from_utf8_lossy(&marker.payload).into_owned(),
        ));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("\n  {name:<12} {value}"));
    format!("{} {}", marker.r#type, marker.marker_id) + &lines.collect::<String>()
}

/// Show every payload that a mark has carried, first to last
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mark lineage repo/docs")]
pub(super) struct Lineage {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn lineage(args: Lineage, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut request = GetLineageRequest {
        workspace_id: context.workspace(),
        marker_id: args.which.id(&connection, context).await?,
        from_depth: 0,
    };
    let mut reply = ask!(connection, markers.get_lineage(request.clone()))?;
    while reply.more {
        request.from_depth = reply.versions.last().map_or(0, |last| last.depth + 1);
        let further = ask!(connection, markers.get_lineage(request.clone()))?;
        reply.versions.extend(further.versions);
        reply.more = further.more;
    }
    let names = if context.globals.json {
        Names::default()
    } else {
        let authors = reply.versions.iter().map(|version| version.author.as_str());
        Names::of(&connection, &context.workspace(), authors).await
    };
    context.print(&reply, |reply| grown(&reply.versions, &names))?;
    Ok(Exit::Done)
}

/// A mark's versions as a table; the demo shows the same.
pub(crate) fn grown(versions: &[PayloadVersion], names: &Names) -> String {
    let head = ["depth", "by", "when", "payload", "sha256"];
    let rows = versions.iter().map(|version| {
        [
            version.depth.to_string(),
            names.name(&version.author).to_owned(),
            moment(version.write_time.as_ref()),
            shown(&version.payload),
            version.payload_hash.chars().take(12).collect(),
        ]
    });
    table(head, rows)
}

/// Compare the regions right below one: where what is strongest
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium mark gradient repo\n  cambium mark gradient --json")]
pub(super) struct Gradient {
    /// A path; left out, the top
    #[arg(default_value = "", hide_default_value = true)]
    region: String,
    /// Also marks that an agent in quarantine left or changed
    #[arg(long)]
    include_quarantined: bool,
}

pub(super) async fn gradient(args: Gradient, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = SenseGradientRequest {
        workspace_id: context.workspace(),
        region: args.region,
        include_quarantined: args.include_quarantined,
    };
    let reply = ask!(connection, markers.sense_gradient(request))?;
    context.print(&reply, |reply| {
        table(
            ["strongest", "type", "region", "sums"],
            reply.regions.iter().map(slope),
        )
    })?;
    if reply.more && !context.globals.json {
        hint("there are more: these have the strongest marks");
    }
    Ok(Exit::Done)
}

fn slope(region: &RegionGradient) -> [String; 4] {
    let strongest = region.strongest.clone().unwrap_or_default();
    let sums: Vec<String> = region
        .sums
        .iter()
        .map(|sum| format!("{} {:.2} of {}", sum.category, sum.intensity, sum.markers))
        .collect();
    [
        bar(strongest.current_intensity),
        strongest.r#type,
        region.region.clone(),
        sums.join(", "),
    ]
}

/// List the regions that have live marks in or below them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium mark regions\n  cambium mark regions repo --json")]
pub(super) struct Regions {
    /// Only this one and those below it
    #[arg(default_value = "", hide_default_value = true)]
    region: String,
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

pub(super) async fn regions(args: Regions, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListRegionsRequest {
        workspace_id: context.workspace(),
        region: args.region,
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = ask!(connection, markers.list_regions(request))?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        let token = &reply.next_page_token;
        hint(&format!("more: cambium mark regions --page-token {token}"));
    }
    context.print(&reply, |reply| {
        let rows = reply.regions.iter();
        let rows = rows.map(|region| [region.region.clone(), region.markers.to_string()]);
        table(["region", "marks"], rows)
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            marker_id: "m1".to_owned(),
            region: "repo/docs".to_owned(),
            r#type: "knowledge.pattern".to_owned(),
            placed_by: "a1".to_owned(),
            current_intensity: 0.52,
            half_life_s: 1_800,
            payload: br#"{"use":"short words"}"#.to_vec(),
            transformed_by: vec!["a2".to_owned()],
            transformation_depth: 1,
            trust: 0.5,
            ..Marker::default()
        }
    }

    #[test]
    fn a_mark_is_a_row_that_begins_with_its_bar() {
        let listed = listed(&[marker()], &Names::default());

        let row = listed.lines().nth(1).unwrap();
        assert!(
            row.starts_with("█████░░░░░ 0.52  knowledge.pattern  repo/docs  a1"),
            "{row}"
        );
        assert!(
            row.ends_with(r#"1      0.50   {"use":"short words"}  m1"#),
            "{row}"
        );
    }

    #[test]
    fn a_mark_of_a_quarantined_agent_says_so() {
        let marker = Marker {
            quarantined: true,
            ..marker()
        };

        assert!(
            listed(std::slice::from_ref(&marker), &Names::default()).contains("a1, quarantined")
        );
        assert!(one(&marker, &Names::default()).contains("left out of what others sense"));
    }

    #[test]
    fn a_long_payload_is_cut_and_stays_on_its_line() {
        let payload = format!("[\n{}]", "1,".repeat(100));

        let shown = shown(payload.as_bytes());

        assert!(
            shown.starts_with("[ 1,1") && shown.ends_with('…'),
            "{shown}"
        );
        assert_eq!(shown.chars().count(), SHOWN);
    }

    #[test]
    fn one_mark_is_told_in_full() {
        let told = one(&marker(), &Names::default());

        assert!(told.contains("\n  half-life    30 min"), "{told}");
        assert!(told.contains("\n  built on by  a2"), "{told}");
    }
}
