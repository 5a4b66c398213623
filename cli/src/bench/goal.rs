//! The goals of docs/performance.md, and how a line stands to them. Where the machine was not ours alone it says nothing:
//! a figure is then worth no more than the moment it was taken in.

use serde_json::Value;

/// Above this much CPU used by anybody else, a rate tells about them too.
const MOST_OTHERS: f64 = 0.3;

/// What one figure of a line must be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Goal {
    /// Where the figure stands in the line, as a JSON pointer.
    figure: &'static str,
    must: Must,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Must {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(super) const fn at_least(figure: &'static str, bound: f64) -> Self {
        Self {
            figure,
            must: Must::AtLeast(bound),
        }
    }

    pub(super) const fn at_most(figure: &'static str, bound: f64) -> Self {
        Self {
            figure,
            must: Must::AtMost(bound),
        }
    }

    /// One sentence; none for a figure that the line does not have.
    fn verdict(&self, line: &Value) -> Option<String> {
        let is = line.pointer(self.figure)?.as_f64()?;
        let (reached, bound, word) = match self.must {
            Must::AtLeast(bound) => (is >= bound, bound, "at least"),
            Must::AtMost(bound) => (is <= bound, bound, "at most"),
        };
        let verdict = if reached { "reached" } else { "MISSED" };
        let name = self.figure.trim_start_matches('/').replace('/', ".");
        Some(format!(
            "goal {verdict}: {name} is {is}, must be {word} {bound}"
        ))
    }
}

/// Whether a line may be held against the goals.
pub(super) fn is_judged(other_cores: f64) -> bool {
    other_cores <= MOST_OTHERS && !cfg!(debug_assertions)
}

/// What standard error hears of a line.
pub(super) fn verdicts(line: &Value, goals: &[Goal]) -> Vec<String> {
    if line["judged"] == Value::Bool(true) {
        return goals.iter().filter_map(|goal| goal.verdict(line)).collect();
    }
    let others = line["other_cores"].as_f64().unwrap_or_default();
    let why = if others > MOST_OTHERS {
        format!("other programs used {others} cores, over {MOST_OTHERS}")
    } else {
        "this is no release build".to_owned()
    };
    vec![format!("\"judged\": false: {why}")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOALS: [Goal; 3] = [
        Goal::at_least("/tasks_per_cal", 0.25),
        Goal::at_most("/cpu_ms_per_task/all", 0.25),
        Goal::at_most("/nowhere", 1.0),
    ];

    #[test]
    fn a_line_is_held_against_each_goal_it_has_a_figure_for() {
        let line = json!({"judged": true, "tasks_per_cal": 0.25, "cpu_ms_per_task": {"all": 0.3}});

        assert_eq!(
            verdicts(&line, &GOALS),
            [
                "goal reached: tasks_per_cal is 0.25, must be at least 0.25",
                "goal MISSED: cpu_ms_per_task.all is 0.3, must be at most 0.25",
            ]
        );
    }

    #[test]
    fn a_line_from_a_busy_machine_is_not_judged() {
        let line = json!({"judged": false, "other_cores": 0.41, "tasks_per_cal": 9.0});

        assert_eq!(
            verdicts(&line, &GOALS),
            ["\"judged\": false: other programs used 0.41 cores, over 0.3"]
        );
        assert!(!is_judged(0.31));
    }

    #[test]
    fn a_debug_build_is_not_judged() {
        let line = json!({"judged": false, "other_cores": 0.0});

        assert_eq!(
            verdicts(&line, &GOALS),
            ["\"judged\": false: this is no release build"]
        );
    }
}
