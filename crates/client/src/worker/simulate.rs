//! Work that only takes time: for demonstrations, replays of recorded runs, and failure paths. Has no effect but the marks
//! that a node's config asks for.

mod marks;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::hypha::v1::{Attempt, Usage};
use serde::{Deserialize, Serialize};

use super::task::{Resumed, resumed};
use super::{Failure, Outcome, Task, Work};
use marks::{Marked, Marks};

/// Does what a node's config says under `simulate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulate {
    /// How many times faster than recorded; `None` is as fast as possible.
    pub speed: Option<f64>,
    pub micro_usd: i64,
}

/// What a node's config says about its recorded behaviour.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Plan {
    runtime_s: f64,
    /// How many attempts fail; absent with a `fail_code` is all of them.
    fail_times: Option<i32>,
    fail_code: Option<String>,
    park: Option<Park>,
    /// What it does in the environment before it completes.
    marks: Option<Marks>,
}

/// A wait for somebody's word.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Park {
    signal: String,
    /// How long at most; absent is for as long as it takes.
    for_s: Option<f64>,
}

impl Park {
    /// People are not hurried: the wait is shortened only by a speed that was asked for.
    fn outcome(self, speed: Option<f64>, now: SystemTime) -> Outcome {
        let longest = self.for_s.map(|for_s| for_s / speed.unwrap_or(1.0));
        let longest = longest.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Outcome::Parked {
            signal: self.signal,
            until: longest
                .and_then(|longest| now.checked_add(longest))
                .map(Into::into),
            checkpoint: Bytes::new(),
        }
    }
}

impl Plan {
    /// A config that says nothing of it, or not in this form, runs for no time and succeeds.
    fn of(config: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Config {
            simulate: Plan,
        }
        serde_json::from_slice::<Config>(config)
            .unwrap_or_default()
            .simulate
    }

    fn fails(&self, attempt: i32) -> bool {
        match (self.fail_times, &self.fail_code) {
            (Some(times), _) => attempt <= times,
            (None, code) => code.is_some(),
        }
    }

    fn takes(&self, speed: Option<f64>) -> Duration {
        let Some(speed) = speed else {
            return Duration::ZERO;
        };
        Duration::try_from_secs_f64(self.runtime_s / speed).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Output<'a> {
    node: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    inputs: Vec<&'a str>,
    /// What was waited for, and whether it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumption: Option<Resumed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Option<Marked>,
}

impl Work for Simulate {
    fn wants_token(&self, attempt: &Attempt) -> bool {
        Plan::of(&attempt.config).marks.is_some()
    }

    async fn run(&self, mut task: Task) -> Outcome {
        let plan = Plan::of(&task.config);
        let is_resumed = task.resumption.is_some();
        let takes = plan.takes(self.speed);
        if !takes.is_zero() && !is_resumed {
            tokio::select! {
                () = tokio::time::sleep(takes) => {}
                _ = task.orders.stopped() => return Outcome::Stopped,
            }
        }
        if let Some(park) = plan.park.clone().filter(|_| !is_resumed) {
            return park.outcome(self.speed, SystemClock.now().into());
        }
        let usage = Some(Usage {
            micro_usd: self.micro_usd,
            measured: true,
        });
        if plan.fails(task.attempt) {
            let code = plan.fail_code.unwrap_or_else(|| "SIMULATED".to_owned());
            let detail = format!("simulated failure of attempt {}", task.attempt);
            return Outcome::Failed(Failure {
                usage,
                ..Failure::retryable(code, detail)
            });
        }
        let marks = match (plan.marks, &task.environment) {
            (Some(marks), Some(environment)) => {
                Some(marks.leave(&task.agent_id, environment).await)
            }
            _ => None,
        };
        Outcome::Completed {
            output: output(&task, marks),
            usage,
        }
    }
}

fn output(task: &Task, marks: Option<Marked>) -> Bytes {
    let output = Output {
        node: &task.node,
        index: task.index,
        inputs: task.inputs.iter().map(|(key, _)| key.as_str()).collect(),
        resumption: task.resumption.as_ref().and_then(|it| resumed(it).ok()),
        marks,
    };
    serde_json::to_vec(&output)
        .map(Bytes::from)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::Resumption;

    use super::*;
    use crate::worker::{Order, Orders, Why};

    fn task(config: &'static str, attempt: i32) -> Task {
        let attempt = Attempt {
            node: "mix".to_owned(),
            config: Bytes::from_static(config.as_bytes()),
            attempt,
            ..Attempt::default()
        };
        let inputs = vec![
            ("a".to_owned(), Bytes::new()),
            ("b".to_owned(), Bytes::new()),
        ];
        Task::new(attempt, inputs, Orders::unchanging())
    }

    async fn code(config: &'static str, attempt: i32) -> Option<String> {
        match Simulate::default().run(task(config, attempt)).await {
            Outcome::Failed(failure) => Some(failure.code),
            _ => None,
        }
    }

    #[tokio::test]
    async fn the_output_names_its_inputs() {
        let outcome = Simulate::default().run(task("", 1)).await;

        assert_eq!(
            outcome,
            Outcome::Completed {
                output: Bytes::from_static(br#"{"node":"mix","inputs":["a","b"]}"#),
                usage: Some(Usage {
                    micro_usd: 0,
                    measured: true
                }),
            }
        );
    }

    #[tokio::test]
    async fn it_fails_as_often_as_it_is_told() {
        let twice = r#"{"simulate":{"fail_times":2,"fail_code":"FLAKY"}}"#;

        assert_eq!(code(twice, 1).await.as_deref(), Some("FLAKY"));
        assert_eq!(code(twice, 2).await.as_deref(), Some("FLAKY"));
        assert_eq!(code(twice, 3).await, None);
    }

    #[tokio::test]
    async fn a_code_without_a_count_fails_always() {
        let always = r#"{"simulate":{"fail_code":"BROKEN"}}"#;

        assert_eq!(code(always, 99).await.as_deref(), Some("BROKEN"));
    }

    #[test]
    fn speed_divides_the_recorded_runtime() {
        let plan = Plan::of(br#"{"simulate":{"runtime_s":30}}"#);

        assert_eq!(plan.takes(Some(10.0)), Duration::from_secs(3));
        assert_eq!(plan.takes(None), Duration::ZERO);
        assert_eq!(plan.takes(Some(0.0)), Duration::ZERO);
    }

    #[tokio::test]
    async fn it_parks_once_and_then_says_what_it_heard() {
        let config = r#"{"simulate":{"park":{"signal":"approval"}}}"#;
        let heard = Resumption {
            signal: "approval".to_owned(),
            payload: Bytes::from_static(br#"{"approved":true}"#),
            ..Resumption::default()
        };
        let resumed = Task {
            resumption: Some(heard),
            ..task(config, 1)
        };

        let parked = Simulate::default().run(task(config, 1)).await;
        let completed = Simulate::default().run(resumed).await;

        let expected = Outcome::Parked {
            signal: "approval".to_owned(),
            until: None,
            checkpoint: Bytes::new(),
        };
        assert_eq!(parked, expected);
        let Outcome::Completed { output, .. } = completed else {
            panic!("{completed:?}");
        };
        let output: serde_json::Value = serde_json::from_slice(&output).unwrap();
        let heard = serde_json::json!({
            "checkpoint": null, "signal": "approval", "payload": {"approved": true}, "timed_out": false,
        });
        assert_eq!(output["resumption"], heard);
    }

    #[test]
    fn a_wait_for_people_is_shortened_by_a_speed_alone() {
        let now = SystemTime::UNIX_EPOCH;
        let seconds = |speed| {
            let park = Park {
                signal: "approval".to_owned(),
                for_s: Some(30.0),
            };
            match park.outcome(speed, now) {
                Outcome::Parked { until, .. } => until.unwrap().seconds,
                other => panic!("{other:?}"),
            }
        };

        assert_eq!((seconds(None), seconds(Some(10.0))), (30, 3));
    }

    #[test]
    fn only_a_task_that_leaves_marks_wants_a_token() {
        let attempt = |config: &'static str| Attempt {
            config: Bytes::from_static(config.as_bytes()),
            ..Attempt::default()
        };

        let marking = r#"{"simulate":{"marks":{"sense":{"region":"r","transform":{}}}}}"#;
        assert!(Simulate::default().wants_token(&attempt(marking)));
        assert!(!Simulate::default().wants_token(&attempt(r#"{"simulate":{"runtime_s":1}}"#)));
    }

    #[tokio::test]
    async fn a_stop_ends_it_at_once() {
        let (sender, orders) = Orders::channel();
        let simulate = Simulate {
            speed: Some(1.0),
            ..Simulate::default()
        };
        let task = Task {
            orders,
            ..task(r#"{"simulate":{"runtime_s":3600}}"#, 1)
        };
        sender.send(Order::Stop(Why::Cancelled)).unwrap();

        assert_eq!(simulate.run(task).await, Outcome::Stopped);
    }
}
