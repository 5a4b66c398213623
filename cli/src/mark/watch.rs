//! Follows what happens to the marks of a region, through cuts of the connection.

use cambium_client::{Connection, Policy, refusal};
use cambium_proto::stigmergy::v1::{MarkerEventKind, WatchMarkersRequest, WatchMarkersResponse};
use cambium_service_kit::shutdown;
use tonic::{Code, Status};

use crate::bar::bar;
use crate::context::{Context, emit, hint};
use crate::exit::Exit;
use crate::json::{self, word};
use crate::table::moment;

/// How long a service may be away while somebody watches.
const PATIENCE: Policy = crate::follow::PATIENCE;

/// Follow what happens to the marks of a region and below it, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mark watch repo\n  cambium mark watch --from 1 --json"
)]
pub(super) struct Watch {
    /// A path; left out, everywhere
    #[arg(default_value = "", hide_default_value = true)]
    region: String,
    /// Only what came after this sequence; 0 is all that is kept
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: i64,
}

pub(super) async fn watch(args: Watch, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut request = WatchMarkersRequest {
        workspace_id: context.workspace(),
        region: args.region,
        after_seq: args.from,
    };
    tokio::select! {
        failed = each(&connection, &mut request, context) => failed?,
        () = shutdown::signalled() => {}
    }
    hint(&format!(
        "go on with: cambium mark watch {} --from {}",
        request.region, request.after_seq
    ));
    Ok(Exit::Done)
}

/// Prints every event; ends only by a failure that no patience helps against.
async fn each(
    connection: &Connection,
    request: &mut WatchMarkersRequest,
    context: &Context,
) -> anyhow::Result<()> {
    let mut tried = 0;
    loop {
        let before = request.after_seq;
        let Err(status) = stream(connection, request, context).await? else {
            continue;
        };
        tried = if request.after_seq > before {
            1
        } else {
            tried + 1
        };
        let passes = refusal::is_transport(&status) || status.code() == Code::ResourceExhausted;
        if !passes || tried >= PATIENCE.attempts {
            return Err(status.into());
        }
        tokio::time::sleep(PATIENCE.backoff(tried, rand::random())).await;
    }
}

/// One stream. The outer error is ours, the inner one the service's.
async fn stream(
    connection: &Connection,
    request: &mut WatchMarkersRequest,
    context: &Context,
) -> anyhow::Result<Result<(), Status>> {
    let mut events = match connection.markers().watch_markers(request.clone()).await {
        Ok(reply) => reply.into_inner(),
        Err(status) => return Ok(Err(status)),
    };
    loop {
        let event = match events.message().await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(Err(Status::unavailable("the service ended the stream"))),
            Err(status) => return Ok(Err(status)),
        };
        request.after_seq = request.after_seq.max(event.seq);
        if context.globals.json {
            emit(&json::reply(&event)?);
        } else if event.kind() != MarkerEventKind::Heartbeat {
            emit(&line(&event));
        }
    }
}

fn line(event: &WatchMarkersResponse) -> String {
    let kind = word(event.kind().as_str_name(), "MARKER_EVENT_KIND_");
    let by = match event.actor.as_str() {
        "" => String::new(),
        actor => format!("  by {actor}"),
    };
    let depth = match event.kind() {
        MarkerEventKind::Transformed => format!("  depth {}", event.transformation_depth),
        _ => String::new(),
    };
    format!(
        "{:>6}  {}  {kind:<11}  {}  {}  {}  {}{by}{depth}",
        event.seq,
        moment(event.occur_time.as_ref()),
        bar(event.intensity_after),
        event.r#type,
        event.region,
        event.marker_id,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = WatchMarkersResponse {
            seq: 7,
            kind: MarkerEventKind::Transformed.into(),
            marker_id: "m1".to_owned(),
            region: "repo".to_owned(),
            r#type: "knowledge.pattern".to_owned(),
            actor: "a1".to_owned(),
            intensity_after: 0.6,
            transformation_depth: 2,
            ..WatchMarkersResponse::default()
        };

        assert_eq!(
            line(&event),
            "     7  -  transformed  ██████░░░░ 0.60  knowledge.pattern  repo  m1  by a1  depth 2"
        );
    }
}
