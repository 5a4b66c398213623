//! CPU and memory by process, as `/proc` tells them. Looks only.

use std::collections::HashMap;
use std::fs;

use anyhow::Context as _;

/// Kernel ticks in a second, on every Linux that matters.
const TICKS: f64 = 100.0;

/// All processes of one moment.
#[derive(Debug)]
pub(super) struct Processes(HashMap<u32, Process>);

/// One process; times in seconds of CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Process {
    parent: u32,
    own_s: f64,
    /// Of children that have ended and been waited for.
    ended_s: f64,
}

impl Processes {
    pub(super) fn now() -> anyhow::Result<Self> {
        let mut processes = HashMap::new();
        for entry in fs::read_dir("/proc").context("/proc cannot be read")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // One that ended meanwhile is none.
            if let Some(process) = fs::read_to_string(format!("/proc/{id}/stat"))
                .ok()
                .and_then(|stat| Process::parse(&stat))
            {
                processes.insert(id, process);
            }
        }
        Ok(Self(processes))
    }

    /// CPU of one process, without its children's.
    pub(super) fn of(&self, id: u32) -> f64 {
        self.0.get(&id).map_or(0.0, |one| one.own_s)
    }

    /// CPU of a process and of all that ever ran below it: workers of Postgres come and go.
    pub(super) fn of_tree(&self, root: u32) -> f64 {
        let own = self.0.get(&root).map_or(0.0, |one| one.own_s + one.ended_s);
        let children = self.0.iter().filter(|(_, one)| one.parent == root);
        own + children.map(|(id, _)| self.of_tree(*id)).sum::<f64>()
    }
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        // The name stands in brackets and may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own_s: seconds(11)? + seconds(12)?,
            ended_s: seconds(13)? + seconds(14)?,
        })
    }
}

/// CPU that the whole machine has used.
pub(super) fn machine_s() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/stat").context("/proc/stat cannot be read")?;
    Ok(busy_s(&stat))
}

fn busy_s(stat: &str) -> f64 {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|one| one.parse().ok())
        .collect();
    // User, nice, system, irq, softirq: what is neither idle nor stolen.
    let busy = [0, 1, 2, 5, 6].into_iter().filter_map(|at| ticks.get(at));
    busy.sum::<f64>() / TICKS
}

/// Memory that this process holds.
pub(super) fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_skipped() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 99";

        let process = Process::parse(stat);

        let expected = Process {
            parent: 7,
            own_s: 2.0,
            ended_s: 0.5,
        };
        assert_eq!(process, Some(expected));
        assert_eq!(Process::parse("42 (short) S 7"), None);
    }

    #[test]
    fn a_tree_counts_what_has_ended_below_it() {
        let process = |parent, own_s, ended_s| Process {
            parent,
            own_s,
            ended_s,
        };
        let all = [
            (10, process(1, 1.0, 0.5)),
            (11, process(10, 2.0, 0.0)),
            (12, process(11, 4.0, 0.0)),
            (13, process(1, 64.0, 0.0)),
        ];
        let processes = Processes(all.into_iter().collect());

        assert_eq!(processes.of_tree(10), 7.5);
        assert_eq!((processes.of(10), processes.of(99)), (1.0, 0.0));
    }

    #[test]
    fn waiting_for_the_disk_is_no_work() {
        let stat = "cpu  100 20 30 9999 8888 5 5 7777 0 0\ncpu0 1 2 3\n";

        assert_eq!(busy_s(stat), 1.6);
    }
}
