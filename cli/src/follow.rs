//! Follows a run to its end, through cuts of the connection and restarts of the service.

use std::time::Duration;

use cambium_client::{Connection, Policy, refusal};
use cambium_proto::hypha::v1::{
    Run, RunEvent, RunState, WatchRunRequest, WatchRunResponse, watch_run_response,
};
use tonic::{Code, Status};

use crate::json::word;
use crate::live::{self, Last, Screen};
use crate::run_name::RunName;

/// How long a service may be away while somebody watches.
pub(crate) const PATIENCE: Policy = Policy {
    attempts: 40,
    initial: Duration::from_millis(100),
    cap: Duration::from_secs(3),
    longest: Duration::MAX,
};

/// Which run, from where.
#[derive(Clone, Debug)]
pub(crate) struct Follow<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) workspace: String,
    pub(crate) run_id: String,
    /// The last sequence seen; 0 = all.
    pub(crate) after_seq: i64,
}

impl Follow<'_> {
    /// Hands on every item until the stream ends with the run. Events come once each, in order.
    pub(crate) async fn each(
        mut self,
        mut see: impl FnMut(&WatchRunResponse) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut tried = 0;
        loop {
            let before = self.after_seq;
            let Err(error) = self.stream(&mut see).await? else {
                return Ok(());
            };
            tried = if self.after_seq > before {
                1
            } else {
                tried + 1
            };
            let pause = pause(&error, tried).ok_or(error)?;
            tokio::time::sleep(pause).await;
        }
    }

    /// One stream. The outer error is the reader's, the inner one the service's.
    async fn stream(
        &mut self,
        see: &mut impl FnMut(&WatchRunResponse) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), Status>> {
        let request = WatchRunRequest {
            workspace_id: self.workspace.clone(),
            run_id: self.run_id.clone(),
            after_seq: self.after_seq,
        };
        let mut stream = match self.connection.runs().watch_run(request).await {
            Ok(reply) => reply.into_inner(),
            Err(status) => return Ok(Err(status)),
        };
        loop {
            match stream.message().await {
                Ok(Some(item)) => {
                    if let Some(watch_run_response::Item::Event(event)) = &item.item {
                        self.after_seq = event.seq;
                    }
                    see(&item)?;
                }
                Ok(None) => return Ok(Ok(())),
                Err(status) => return Ok(Err(status)),
            }
        }
    }
}

/// Cut off, restarting, or too slow a reader: go on from the last event seen.
fn pause(status: &Status, tried: u32) -> Option<Duration> {
    if tried >= PATIENCE.attempts {
        return None;
    }
    let passes = refusal::is_transport(status) || status.code() == Code::ResourceExhausted;
    passes.then(|| PATIENCE.backoff(tried, rand::random()))
}

/// Follows to the end, drawing the run where standard error is a terminal, and returns the ended run.
pub(crate) async fn to_the_end(follow: Follow<'_>) -> anyhow::Result<Run> {
    if let Some(screen) = Screen::stderr() {
        return live::draw(follow, screen, Last::Goes).await;
    }
    let (connection, workspace) = (follow.connection, follow.workspace.clone());
    let run_id = follow.run_id.clone();
    follow.each(|_| Ok(())).await?;
    get(connection, &workspace, &run_id).await
}

/// The run as it stands.
pub(crate) async fn get(
    connection: &Connection,
    workspace: &str,
    run_id: &str,
) -> anyhow::Result<Run> {
    let name = RunName::Id(run_id.to_owned());
    name.run(connection, workspace).await
}

/// An event as one line.
pub(crate) fn line(event: &RunEvent) -> String {
    let at = event
        .at
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let kind = word(event.kind().as_str_name(), "RUN_EVENT_KIND_");
    let state = match event.run_state() {
        RunState::Unspecified => String::new(),
        state => word(state.as_str_name(), "RUN_STATE_"),
    };
    let parts = [
        format!("{:>6}  {at}  {kind:<16}", event.seq),
        event.task.clone(),
        state,
        event.code.clone(),
        event.detail.clone(),
    ];
    let filled: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    filled.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::RunEventKind;

    use super::*;

    #[test]
    fn a_cut_is_followed_up_and_a_refusal_is_not() {
        assert!(pause(&Status::unavailable(""), 1).is_some());
        assert!(pause(&Status::resource_exhausted("slow"), 1).is_some());
        assert_eq!(pause(&Status::not_found(""), 1), None);
        assert_eq!(pause(&Status::unavailable(""), PATIENCE.attempts), None);
    }

    #[test]
    fn an_event_is_one_line() {
        let event = RunEvent {
            seq: 7,
            kind: RunEventKind::TaskFailed.into(),
            task: "draft".to_owned(),
            code: "EXIT_3".to_owned(),
            detail: "no".to_owned(),
            ..RunEvent::default()
        };

        assert_eq!(
            line(&event),
            "     7    task failed       draft  EXIT_3  no"
        );
    }
}
