//! The program that acts as a mind: it has the terminal to itself, and whoever ends us ends it first.

use std::time::Duration;

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio::signal::unix::{Signal as Heard, SignalKind, signal};
use tokio::time::timeout;

use crate::failure::Refusal;

/// Between asking the program to end and ending it.
const GRACE: Duration = Duration::from_secs(10);

/// What would end this program, were it not for the session that it holds.
pub(super) struct Signals {
    terminate: Heard,
    hang_up: Heard,
    /// A terminal's Ctrl-C reaches the program too, and is its own to answer.
    _interrupt: Heard,
}

impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be listened to");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            _interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Resolves when we are asked to end.
    async fn asked(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::SIGTERM,
            _ = self.hang_up.recv() => Signal::SIGHUP,
        }
    }
}

pub(super) struct Child(tokio::process::Child);

impl Child {
    pub(super) fn start(words: &[String], variables: &[(&str, String)]) -> anyhow::Result<Self> {
        let (program, arguments) = words.split_first().context("no program is named")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .kill_on_drop(true);
        let started = command
            .spawn()
            .map_err(|error| Refusal::Usage(format!("`{program}` cannot be started: {error}")))?;
        Ok(Self(started))
    }

    /// Waits for its end, and answers its exit code: none if a signal ended it.
    pub(super) async fn ends(&mut self, signals: &mut Signals) -> anyhow::Result<Option<i32>> {
        let asked = tokio::select! {
            ended = self.0.wait() => return Ok(ended?.code()),
            asked = signals.asked() => asked,
        };
        if let Some(pid) = self.0.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = kill(Pid::from_raw(pid), asked);
        }
        match timeout(GRACE, self.0.wait()).await {
            Ok(ended) => Ok(ended?.code()),
            Err(_) => {
                self.0.kill().await?;
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(line: &str, variables: &[(&str, String)]) -> anyhow::Result<Child> {
        Child::start(&["sh", "-c", line].map(str::to_owned), variables)
    }

    #[tokio::test]
    async fn a_program_finds_its_variables_and_its_exit_code_is_told() {
        let mut signals = Signals::listen().unwrap();
        let variables = [("CAMBIUM_MIND", "eureka".to_owned())];

        let mut right = start("test $CAMBIUM_MIND = eureka", &variables).unwrap();
        let mut wrong = start("exit 3", &[]).unwrap();

        assert_eq!(right.ends(&mut signals).await.unwrap(), Some(0));
        assert_eq!(wrong.ends(&mut signals).await.unwrap(), Some(3));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let refused = Child::start(&["/nowhere/at-all".to_owned()], &[])
            .err()
            .unwrap();

        assert!(
            refused
                .to_string()
                .starts_with("`/nowhere/at-all` cannot be started")
        );
    }
}
