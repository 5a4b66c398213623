//! Sentences: lists, counts and moments as people read them.

use cambium_proto::hypha::v1 as wire;
use chrono::{DateTime, Utc};

pub(super) fn reason(kind: wire::ReasonKind, task: &str, text: impl Into<String>) -> wire::Reason {
    wire::Reason {
        kind: kind.into(),
        task: task.to_owned(),
        text: text.into(),
        ..wire::Reason::default()
    }
}

/// How many tasks a reason speaks for: the one it names, and others like it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who(pub(super) i64);

impl Who {
    pub(super) fn is_one(self) -> bool {
        self.0 <= 1
    }

    /// `it is ready`, or `it and 4 more are ready`.
    pub(super) fn does(self, one: &str, many: &str) -> String {
        if self.is_one() {
            format!("it {one}")
        } else {
            format!("it and {} more {many}", self.0 - 1)
        }
    }
}

/// `a, b and c`.
pub(super) fn series(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// As [`series`], of the first of `total`.
pub(super) fn series_of(parts: &[String], total: usize) -> String {
    let left = total.saturating_sub(parts.len());
    if left == 0 {
        return series(parts);
    }
    let mut parts = parts.to_vec();
    parts.push(format!("{left} more"));
    series(&parts)
}

/// `1 member`, `3 members`.
pub(super) fn counted(count: impl Into<i64>, noun: &str) -> String {
    let count = count.into();
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{name}`")
}

pub(super) fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    #[test]
    fn lists_read_as_people_write_them() {
        assert_eq!(series(&owned(&[])), "");
        assert_eq!(series(&owned(&["a"])), "a");
        assert_eq!(series(&owned(&["a", "b"])), "a and b");
        assert_eq!(series_of(&owned(&["a", "b"]), 2), "a and b");
        assert_eq!(series_of(&owned(&["a", "b"]), 7), "a, b and 5 more");
    }

    #[test]
    fn one_task_is_spoken_of_otherwise_than_many() {
        assert_eq!(Who(1).does("is ready", "are ready"), "it is ready");
        assert_eq!(
            Who(3).does("is ready", "are ready"),
            "it and 2 more are ready"
        );
        assert_eq!(
            [counted(1, "slot"), counted(0, "slot")],
            ["1 slot", "0 slots"]
        );
    }
}
