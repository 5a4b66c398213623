//! Work done by a program: the task as JSON on its standard input, its output as JSON on its standard output.
//!
//! The program runs in its own process group, which is paused, continued and ended as a whole. Nothing of the worker's
//! credentials is handed to it; a token of the attempt's own is, unless that was not wanted.

mod process;

use std::time::Duration;

use cambium_proto::hypha::v1::{Attempt, Usage};
use tokio::process::Command;

use super::{Failure, Order, Outcome, Task, Work, reply};
use process::{Finished, Process};

/// What a program's environment says about whom it may speak to, and as whom. The command reads the same names.
const TOKEN: &str = "CAMBIUM_TOKEN";
const TOKEN_FILE: &str = "CAMBIUM_TOKEN_FILE";
const SERVER: &str = "CAMBIUM_SERVER";
const WORKSPACE: &str = "CAMBIUM_WORKSPACE";
/// And what it is there for.
const AGENT_ID: &str = "CAMBIUM_AGENT_ID";
const TASK_ID: &str = "CAMBIUM_TASK_ID";

/// Runs a program for each task.
#[derive(Clone, Debug)]
pub struct Exec {
    pub program: Program,
    /// Between asking the program to end and ending it.
    pub grace: Duration,
    /// What each task costs, measured; else the cost is what the program declares.
    pub micro_usd_per_task: Option<i64>,
    /// Where the program finds the services. With it, the program also gets the attempt's token: what it does there, its
    /// task's agent does. It can leave marks, and start runs of its own.
    pub server: Option<String>,
}

/// What to run.
#[derive(Clone, Debug)]
pub enum Program {
    /// One line for `sh -c`.
    Shell(String),
    /// A program and its arguments, as they are.
    Argv(Vec<String>),
}

impl Program {
    fn command(&self) -> Command {
        match self {
            Self::Shell(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line);
                command
            }
            Self::Argv(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().map_or("", String::as_str));
                command.args(words);
                command
            }
        }
    }
}

impl Work for Exec {
    fn wants_token(&self, _attempt: &Attempt) -> bool {
        self.server.is_some()
    }

    async fn run(&self, mut task: Task) -> Outcome {
        if task.orders.clear().await.is_err() {
            return Outcome::Stopped;
        }
        let input = match task.to_json() {
            Ok(input) => input,
            Err(error) => {
                return Outcome::Failed(Failure::lasting("INVALID_TASK", error.to_string()));
            }
        };
        let process = match Process::start(self.command(&task), input) {
            Ok(process) => process,
            Err(error) => {
                let detail = format!("the program could not be started: {error}");
                return Outcome::Failed(Failure::retryable("EXEC_FAILED", detail));
            }
        };
        match self.oversee(process, &mut task).await {
            Some(finished) => self.judge(finished),
            None => Outcome::Stopped,
        }
    }
}

impl Exec {
    fn command(&self, task: &Task) -> Command {
        let mut command = self.program.command();
        command
            .env_remove(TOKEN_FILE)
            .env_remove(TOKEN)
            .env(AGENT_ID, &task.agent_id)
            .env(TASK_ID, &task.task_id);
        if let (Some(server), Some(token)) = (&self.server, &task.token) {
            command
                .env(TOKEN, token.as_str())
                .env(SERVER, server)
                .env(WORKSPACE, &task.workspace_id);
        }
        command
    }

    /// Passes orders on to the program; `None` if it was stopped.
    async fn oversee(&self, mut process: Process, task: &mut Task) -> Option<Finished> {
        loop {
            tokio::select! {
                finished = process.finished() => return Some(finished),
                order = task.orders.next() => match order {
                    Order::Go => process.resume(),
                    Order::Pause => process.pause(),
                    Order::Stop(_) => {
                        process.stop(self.grace).await;
                        return None;
                    }
                },
            }
        }
    }

    fn judge(&self, finished: Finished) -> Outcome {
        let measured = self.micro_usd_per_task.map(|micro_usd| Usage {
            micro_usd,
            measured: true,
        });
        if finished.too_large {
            let failure = Failure::lasting("OUTPUT_TOO_LARGE", "the program wrote more than 1 MiB");
            return Outcome::Failed(Failure {
                usage: measured,
                ..failure
            });
        }
        if let Some(code) = finished.failure_code() {
            return Outcome::Failed(Failure {
                usage: measured,
                ..Failure::retryable(code, finished.stderr)
            });
        }
        let (output, declared) = reply::read(&finished.stdout);
        Outcome::Completed {
            output,
            usage: measured.or(declared),
        }
    }
}

#[cfg(test)]
mod tests;
