//! How a worker does its tasks: chosen by the flags, checked before anything is asked.

use std::time::Duration;

use anyhow::Context as _;
use cambium_client::worker::exec::Program;
use cambium_client::worker::{Exec, Http, Simulate};
use clap::ArgGroup;

use crate::context::hint;

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
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
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

/// Dollars to whole micro-dollars, without floating point.
fn micro_usd(text: &str) -> anyhow::Result<i64> {
    let say = "write dollars with at most six decimals, as in 0.0025";
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    anyhow::ensure!(
        digits(whole) && digits(part) && part.len() <= 6 && !text.is_empty(),
        say
    );
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().context(say)?
    };
    let part: i64 = format!("{part:0<6}").parse().context(say)?;
    whole
        .checked_mul(1_000_000)
        .and_then(|whole| whole.checked_add(part))
        .context(say)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_exact_micro_dollars() {
        assert_eq!(micro_usd("0.0025").unwrap(), 2_500);
        assert_eq!(micro_usd("3").unwrap(), 3_000_000);
        assert_eq!(micro_usd(".000001").unwrap(), 1);
        for bad in ["", "-1", "0.0000001", "1e3", "ten", "99999999999999"] {
            assert!(micro_usd(bad).is_err(), "{bad}");
        }
    }

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
