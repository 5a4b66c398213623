//! Follows what happens on the timeline.

use cambium_proto::swarm::v1::watch_timeline_response::Item;
use cambium_proto::swarm::v1::{TimelineEvent, WatchTimelineRequest, WatchTimelineResponse};

use crate::context::{Context, emit, hint};
use crate::exit::Exit;
use crate::json::{self, word};
use crate::stream;
use crate::table::moment;

/// Follow launches, ends and changes of what the operator set, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium timeline watch\n  cambium timeline watch --from 120 --json"
)]
pub(super) struct Watch {
    /// Only what came after this sequence; 0 is all that is kept
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: i64,
}

pub(super) async fn watch(args: Watch, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut after = args.from;
    let open = |after_seq| {
        let mut timeline = connection.timeline();
        let request = WatchTimelineRequest {
            workspace_id: context.workspace(),
            after_seq,
        };
        async move { timeline.watch_timeline(request).await }
    };
    stream::each(&mut after, open, |reply| told(reply, context)).await?;
    hint(&format!(
        "go on with: cambium timeline watch --from {after}{}",
        context.globals.again()
    ));
    Ok(Exit::Done)
}

fn told(reply: &WatchTimelineResponse, context: &Context) -> anyhow::Result<i64> {
    if context.globals.json {
        emit(&json::reply(reply)?);
    }
    Ok(match &reply.item {
        Some(Item::Event(event)) => {
            if !context.globals.json {
                emit(&line(event));
            }
            event.seq
        }
        Some(Item::HeartbeatSeq(seq)) => *seq,
        None => 0,
    })
}

fn line(event: &TimelineEvent) -> String {
    let kind = word(event.kind().as_str_name(), "TIMELINE_EVENT_KIND_");
    let body = String::from_utf8_lossy(&event.body);
    let line = format!(
        "{:>6}  {}  {kind:<9}  {}  {}  {body}",
        event.seq,
        moment(event.at.as_ref()),
        dash(&event.instance),
        dash(&event.turn_id),
    );
    line.trim_end().to_owned()
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::TimelineEventKind;

    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = TimelineEvent {
            seq: 7,
            kind: TimelineEventKind::Granted.into(),
            instance: "eureka".to_owned(),
            turn_id: "t1".to_owned(),
            body: br#"{"slot":0}"#.to_vec(),
            ..TimelineEvent::default()
        };

        assert_eq!(
            line(&event),
            r#"     7  -  granted    eureka  t1  {"slot":0}"#
        );
    }
}
