//! How a worker does its tasks: chosen by the flags, checked before anything is asked.

use std::time::Duration;

use cambium_client::worker::exec::Program;
use cambium_client::worker::{Exec, Http, Simulate};
use clap::ArgGroup;

use crate::context::hint;
use crate::money;

/// One of four ways, and what goes with it.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("how").args(["exec", "http", "simulate", "program"]).required(true))]
pub(super) struct Manner {
    /// A line for `sh -c`, run for each task
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Where each task is POSTed as JSON; the body of a reply of 2xx is its output
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Do nothing but take the recorded time
    #[arg(long)]
    simulate: bool,
    /// How many times faster than recorded [default: as fast as possible]
    #[arg(long, value_name = "X", requires = "simulate", value_parser = crate::demo::speed)]
    speed: Option<f64>,
    /// With --http: give each task a token of its agent's, as every program has one
    #[arg(long, conflicts_with = "simulate")]
    with_token: bool,
    /// Give programs no token: they can leave no marks and start no runs
    #[arg(long, conflicts_with_all = ["simulate", "http", "with_token"])]
    without_token: bool,
    /// What each task costs, in dollars, as a measured figure
    #[arg(long, value_name = "USD", value_parser = money::micro_usd)]
    usd_per_task: Option<i64>,
    /// Between asking a program to end and ending it, in seconds
    #[arg(long, value_name = "S", default_value_t = 10)]
    grace_s: u64,
    /// A program and its arguments, instead of --exec
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

pub(super) enum How {
    Simulate(Simulate),
    Exec(Exec),
    Http(Box<Http>),
}

impl Manner {
    /// `server` is where a task with a token finds the services.
    pub(super) fn how(&self, server: &str) -> anyhow::Result<How> {
        if self.simulate {
            return Ok(How::Simulate(Simulate {
                speed: self.speed,
                micro_usd: self.usd_per_task.unwrap_or(0),
            }));
        }
        if let Some(url) = &self.http {
            if self.with_token && !keeps_secrets(url) {
                hint(
                    "warning: the tasks' tokens are sent in the clear: use https, or a service on this machine",
                );
            }
            let http = Http::new(url)?
                .with_token(self.with_token)
                .micro_usd_per_task(self.usd_per_task);
            return Ok(How::Http(Box::new(http)));
        }
        let program = self
            .exec
            .clone()
            .map_or_else(|| Program::Argv(self.program.clone()), Program::Shell);
        Ok(How::Exec(Exec {
            program,
            grace: Duration::from_secs(self.grace_s),
            micro_usd_per_task: self.usd_per_task,
            server: (!self.without_token).then(|| server.to_owned()),
        }))
    }
}

/// Whether nobody else reads what is sent there.
fn keeps_secrets(url: &str) -> bool {
    let own = ["localhost", "127.0.0.1", "[::1]"];
    let Some(rest) = url.strip_prefix("http://") else {
        return true;
    };
    own.iter().any(|host| {
        let after = rest.strip_prefix(host);
        after.is_some_and(|after| after.is_empty() || after.starts_with([':', '/', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_safe_on_this_machine_and_under_tls() {
        for safe in [
            "https://tasks.example",
            "http://localhost:80/run",
            "http://[::1]",
        ] {
            assert!(keeps_secrets(safe), "{safe}");
        }
        for open in [
            "http://tasks.example",
            "http://localhost.example",
            "http://127.0.0.100",
        ] {
            assert!(!keeps_secrets(open), "{open}");
        }
    }
}
