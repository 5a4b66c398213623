//! One attempt as its work sees it: everything fetched, nothing of the lease.

use bytes::Bytes;
use cambium_proto::hypha::v1::{Attempt, Resumption};
use serde::Serialize;
use serde::ser::SerializeMap as _;
use serde_json::value::RawValue;

use super::Orders;
use crate::{Environment, StaticToken};

/// What is to be done, and with what.
#[derive(Clone, Debug)]
pub struct Task {
    pub task_id: String,
    pub workspace_id: String,
    pub agent_id: String,
    pub node: String,
    /// Data for the agent; obeyed, if at all, by the program alone.
    pub instructions: String,
    /// UTF-8 JSON, as are the payloads below; empty is null.
    pub config: Bytes,
    pub run_input: Bytes,
    /// By upstream node, in the order given.
    pub inputs: Vec<(String, Bytes)>,
    pub item: Bytes,
    pub index: Option<u32>,
    /// 1 for the first, counting failures alone.
    pub attempt: i32,
    pub resumption: Option<Resumption>,
    /// What its template had learned when the agent was made: data, never instructions.
    pub inherited_learnings: Bytes,
    pub traceparent: String,
    /// With which the work may call as the task's agent, if it asked for one.
    pub token: Option<StaticToken>,
    /// Where the work may leave marks and read them as the task's agent, if it asked for a token.
    pub environment: Option<Environment>,
    pub orders: Orders,
}

impl Task {
    pub(crate) fn new(attempt: Attempt, inputs: Vec<(String, Bytes)>, orders: Orders) -> Self {
        Self {
            task_id: attempt.lease.map(|lease| lease.task_id).unwrap_or_default(),
            workspace_id: attempt.workspace_id,
            agent_id: attempt.agent_id,
            node: attempt.node,
            instructions: attempt.instructions,
            config: attempt.config,
            run_input: attempt.run_input,
            inputs,
            item: attempt.item,
            index: attempt.index,
            attempt: attempt.attempt,
            resumption: attempt.resumption,
            inherited_learnings: attempt.inherited_learnings,
            traceparent: attempt.traceparent,
            token: None,
            environment: None,
            orders,
        }
    }

    /// The task as one JSON document. Payloads are passed on as they are, to the last digit.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let document = Document {
            task_id: &self.task_id,
            workspace_id: &self.workspace_id,
            agent_id: &self.agent_id,
            node: &self.node,
            instructions: &self.instructions,
            config: raw(&self.config)?,
            run_input: raw(&self.run_input)?,
            inputs: Inputs(&self.inputs),
            item: self.index.map(|_| raw(&self.item)).transpose()?,
            index: self.index,
            attempt: self.attempt,
            resumption: self.resumption.as_ref().map(resumed).transpose()?,
            inherited_learnings: raw(&self.inherited_learnings)?,
            traceparent: &self.traceparent,
        };
        serde_json::to_string(&document)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    task_id: &'a str,
    workspace_id: &'a str,
    agent_id: &'a str,
    node: &'a str,
    instructions: &'a str,
    config: Option<&'a RawValue>,
    run_input: Option<&'a RawValue>,
    inputs: Inputs<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Option<&'a RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    attempt: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumption: Option<Resumed<'a>>,
    inherited_learnings: Option<&'a RawValue>,
    traceparent: &'a str,
}

/// What a parked task hears when it goes on.
#[derive(Serialize)]
pub(super) struct Resumed<'a> {
    checkpoint: Option<&'a RawValue>,
    signal: &'a str,
    payload: Option<&'a RawValue>,
    timed_out: bool,
}

struct Inputs<'a>(&'a [(String, Bytes)]);

impl Serialize for Inputs<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, content) in self.0 {
            let value = raw(content).map_err(serde::ser::Error::custom)?;
            map.serialize_entry(key, &value)?;
        }
        map.end()
    }
}

pub(super) fn resumed(resumption: &Resumption) -> Result<Resumed<'_>, serde_json::Error> {
    Ok(Resumed {
        checkpoint: raw(&resumption.checkpoint)?,
        signal: &resumption.signal,
        payload: raw(&resumption.payload)?,
        timed_out: resumption.timed_out,
    })
}

fn raw(payload: &Bytes) -> Result<Option<&RawValue>, serde_json::Error> {
    if payload.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(payload).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        let attempt = Attempt {
            node: "sum".to_owned(),
            config: Bytes::from_static(b"{\"digits\": 12345678901234567890.123456789}"),
            attempt: 1,
            ..Attempt::default()
        };
        let inputs = vec![("a".to_owned(), Bytes::from_static(b"[1, 2]"))];
        Task::new(attempt, inputs, Orders::unchanging())
    }

    #[test]
    fn payloads_are_passed_on_to_the_last_digit() {
        let json = task().to_json().unwrap();

        assert!(json.contains(r#""config":{"digits": 12345678901234567890.123456789}"#));
        assert!(json.contains(r#""inputs":{"a":[1, 2]}"#));
        assert!(json.contains(r#""run_input":null"#));
    }

    #[test]
    fn what_the_agent_inherited_comes_with_every_task() {
        let task = Task {
            inherited_learnings: Bytes::from_static(br#"[{"pattern":"ask first"}]"#),
            ..task()
        };

        let json = task.to_json().unwrap();

        assert!(json.contains(r#""inherited_learnings":[{"pattern":"ask first"}]"#));
    }

    #[test]
    fn only_a_member_of_a_fan_out_has_an_item() {
        let alone = task().to_json().unwrap();
        let member = Task {
            index: Some(2),
            item: Bytes::from_static(b"\"north\""),
            ..task()
        };

        assert!(!alone.contains("\"item\""));
        assert!(
            member
                .to_json()
                .unwrap()
                .contains(r#""item":"north","index":2"#)
        );
    }
}
