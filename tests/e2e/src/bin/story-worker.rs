//! A worker as a process of its own, which a story can kill and pause. It ends when its standard input does, so that it
//! never outlives its story.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use cambium_client::worker::{Ended, Options, Outcome, Runtime, Task, Work};
use cambium_client::{Connection, StaticToken, refusal};
use cambium_e2e::hand::{Hand, WORKSPACE, measured};
use cambium_e2e::part::{Alone, Answer, Part, Play, Word};
use cambium_proto::hypha::v1::{Attempt, CompleteManyRequest, Completion, Lease};
use cambium_service_kit::{shutdown, telemetry};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::{Code, Status};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    telemetry::init("story-worker", telemetry::Format::Pretty)?;
    let mut heard = listen();
    let part = heard.recv().await.context("nobody told what to play")?;
    let part: Part = serde_json::from_str(&part)?;
    let tokens = Arc::new(StaticToken::new(&part.token));
    let connection = Connection::open(&part.url, tokens, Default::default())?;
    match part.play.clone() {
        Play::Alone(alone) => work(&connection, part, alone).await,
        Play::ByHand => obey(connection, part, heard).await,
    }
}

/// Lines of standard input, from a thread of its own: the runtime would wait for a read that may never end.
fn listen() -> mpsc::UnboundedReceiver<String> {
    let (said, heard) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    heard
}

/// Writes one line of standard output.
fn say(document: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(document)?)?;
    Ok(out.flush()?)
}

async fn work(connection: &Connection, part: Part, alone: Alone) -> anyhow::Result<()> {
    let options = Options {
        workspace: WORKSPACE.to_owned(),
        worker: part.worker,
        agent_ids: part.agents,
        slots: alone.slots,
        capabilities: Vec::new(),
    };
    let runtime = Runtime::new(connection, options, Actor(alone));
    let ended = match runtime.run(shutdown::signalled()).await? {
        Ended::Drained => "drained",
        Ended::Replaced => "replaced",
    };
    say(&json!({ "ended": ended }))
}

struct Actor(Alone);

impl Actor {
    fn is_open(&self) -> bool {
        self.0.gate.as_ref().is_some_and(|gate| gate.exists())
    }

    async fn do_it(&self, task: &Task) {
        let config: Value = serde_json::from_slice(&task.config).unwrap_or_default();
        if config["gated"] == true {
            while !self.is_open() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(self.0.takes_ms)).await;
    }
}

impl Work for Actor {
    async fn run(&self, task: Task) -> Outcome {
        let mut orders = task.orders.clone();
        tokio::select! {
            () = self.do_it(&task) => {}
            _ = orders.stopped() => return Outcome::Stopped,
        }
        let inputs: Vec<&str> = task.inputs.iter().map(|(key, _)| key.as_str()).collect();
        let output = json!({ "by": self.0.label, "of": task.node, "inputs": inputs });
        Outcome::Completed {
            output: Bytes::from(output.to_string()),
            usage: Some(measured(1)),
        }
    }
}

async fn obey(
    connection: Connection,
    part: Part,
    mut heard: mpsc::UnboundedReceiver<String>,
) -> anyhow::Result<()> {
    let hand = Hand::register(vec![connection], &part.worker, &part.agents).await?;
    say(&answer(Ok(Answer::default())))?;
    let mut held = Vec::new();
    while let Some(line) = heard.recv().await {
        let word = serde_json::from_str(&line)?;
        say(&answer(call(&hand, word, &mut held).await))?;
    }
    Ok(())
}

/// Makes the call. What a poll brought is held for good, so that a stale lease can be shown again.
async fn call(hand: &Hand, word: Word, held: &mut Vec<Attempt>) -> Result<Answer, Status> {
    let leases: Vec<Lease> = held.iter().filter_map(|one| one.lease.clone()).collect();
    let first = leases.first().cloned().unwrap_or_default();
    let mut answer = Answer::default();
    match word {
        Word::Poll { max, wait_ms } => {
            *held = hand.poll(max, Duration::from_millis(wait_ms)).await?;
            answer.nodes = held.iter().map(|one| one.node.clone()).collect();
        }
        Word::Heartbeat => {
            let states = hand.heartbeat(leases).await?;
            answer.leases = states.iter().map(|state| format!("{state:?}")).collect();
        }
        Word::Complete { output, micro_usd } => {
            hand.complete(first, &output, micro_usd, 0).await?;
        }
        Word::CompleteMany { output, micro_usd } => {
            answer.leases = complete_many(hand, leases, &output, micro_usd).await?;
        }
        Word::Fail { code } => {
            hand.fail(first, &code, true, 0).await?;
        }
        Word::Park { signal } => hand.park(first, &signal).await?,
        Word::Release => hand.release(first).await?,
    }
    Ok(answer)
}

/// The reason told of each lease; empty where the completion was accepted.
async fn complete_many(
    hand: &Hand,
    leases: Vec<Lease>,
    output: &str,
    micro_usd: i64,
) -> Result<Vec<String>, Status> {
    let completion = |lease| Completion {
        lease: Some(lease),
        output: Bytes::from(output.to_owned()),
        usage: Some(measured(micro_usd)),
    };
    let request = CompleteManyRequest {
        registration_id: hand.registration().to_owned(),
        completions: leases.into_iter().map(completion).collect(),
        next: 0,
    };
    let reply = hand.workers().complete_many(request).await?.into_inner();
    Ok(reply.results.into_iter().map(|end| end.reason).collect())
}

fn answer(came: Result<Answer, Status>) -> Answer {
    match came {
        Ok(answer) => Answer {
            code: format!("{:?}", Code::Ok),
            ..answer
        },
        Err(status) => Answer {
            code: format!("{:?}", status.code()),
            reason: refusal::reason(&status),
            ..Answer::default()
        },
    }
}
