//! The marks that a run's agents have left since it started, with what became of each.

use std::collections::BTreeSet;

use cambium_client::Connection;
use cambium_proto::hypha::v1::Run;
use cambium_proto::stigmergy::v1::{
    GetLineageRequest, Marker, PayloadVersion, SenseMarkersRequest, SenseOrder,
};
use tonic::Status;

use super::ledger::nanos;
use crate::ask::ask;
use crate::names::Names;

/// As many as one call may bring.
const MOST: i32 = 500;
/// Whose lineage is told.
const MOST_LINEAGES: usize = 5;
/// Of a payload.
const SHOWN: usize = 70;

/// A mark, in the words of a summary.
#[derive(Debug)]
pub(crate) struct Mark {
    what: String,
    /// Each version: its depth, its author and the beginning of its payload.
    lineage: Vec<String>,
}

impl Mark {
    pub(super) fn for_people(&self) -> Vec<String> {
        let versions = self
            .lineage
            .iter()
            .map(|version| format!("      {version}"));
        std::iter::once(format!("    {}", self.what))
            .chain(versions)
            .collect()
    }
}

pub(super) async fn left(
    connection: &Connection,
    run: &Run,
    agents: &BTreeSet<String>,
) -> Result<Vec<Mark>, Status> {
    let request = SenseMarkersRequest {
        workspace_id: run.workspace_id.clone(),
        below: true,
        min_intensity: Some(0.0),
        limit: MOST,
        order: SenseOrder::Newest.into(),
        include_quarantined: true,
        ..SenseMarkersRequest::default()
    };
    let found = ask!(connection, markers.sense_markers(request))?.markers;
    let own = |marker: &Marker| {
        agents.contains(&marker.placed_by) && nanos(marker.place_time) >= nanos(run.start_time)
    };
    let own: Vec<Marker> = found.into_iter().filter(own).collect();
    let names = Names::of(connection, &run.workspace_id, own.iter().flat_map(authors)).await;
    let mut marks = Vec::with_capacity(own.len());
    for marker in own {
        let lineage = if marker.transformation_depth > 0 && marks.len() < MOST_LINEAGES {
            lineage(connection, run, &marker).await?
        } else {
            Vec::new()
        };
        marks.push(Mark {
            what: what(&marker, &names),
            lineage: lineage
                .iter()
                .map(|version| told(version, &names))
                .collect(),
        });
    }
    Ok(marks)
}

fn authors(marker: &Marker) -> impl Iterator<Item = &str> {
    let transformers = marker.transformed_by.iter().map(String::as_str);
    std::iter::once(marker.placed_by.as_str()).chain(transformers)
}

async fn lineage(
    connection: &Connection,
    run: &Run,
    marker: &Marker,
) -> Result<Vec<PayloadVersion>, Status> {
    let request = GetLineageRequest {
        workspace_id: run.workspace_id.clone(),
        marker_id: marker.marker_id.clone(),
        from_depth: 0,
    };
    Ok(ask!(connection, markers.get_lineage(request))?.versions)
}

fn what(marker: &Marker, names: &Names) -> String {
    let by = names.name(&marker.placed_by);
    let left = format!("{} in {}, left by {by}", marker.r#type, marker.region);
    let others: Vec<&str> = marker
        .transformed_by
        .iter()
        .map(|id| names.name(id))
        .collect();
    if others.is_empty() {
        return left;
    }
    format!("{left}, built upon by {}", others.join(", "))
}

fn told(version: &PayloadVersion, names: &Names) -> String {
    let payload = String::from_utf8_lossy(&version.payload);
    let payload = console::truncate_str(&payload, SHOWN, "…");
    format!(
        "{}  {}  {payload}",
        version.depth,
        names.name(&version.author)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_who_left_it_and_who_built_upon_it() {
        let marker = Marker {
            r#type: "knowledge.strategy".to_owned(),
            region: "report".to_owned(),
            placed_by: "a1".to_owned(),
            transformed_by: vec!["a2".to_owned()],
            ..Marker::default()
        };
        let version = PayloadVersion {
            depth: 1,
            author: "a2".to_owned(),
            payload: br#"{"first":"rents"}"#.to_vec(),
            ..PayloadVersion::default()
        };
        let names = Names::default();

        let mark = Mark {
            what: what(&marker, &names),
            lineage: vec![told(&version, &names)],
        };

        assert_eq!(
            mark.for_people(),
            [
                "    knowledge.strategy in report, left by a1, built upon by a2",
                r#"      1  a2  {"first":"rents"}"#,
            ]
        );
    }
}
