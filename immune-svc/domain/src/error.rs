//! Every way a rule of immune can say no.

use cambium_kernel::{ErrorKind, Failure};

use crate::commons::Bite;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the rule's id `{0}` is not made of 1 to 64 of `a-z0-9-`")]
    RuleId(String),

    #[error("`{0}` is no type of signal, which is dotted, as in `stress.context_hoarding`")]
    SignalType(String),

    #[error("a window of {seconds} s is outside 1 s to 24 h")]
    Window { seconds: i64 },

    #[error("a count of {0} is outside 1 to 1,000")]
    MinCount(i64),

    #[error("a rule counts in the last 1 to 100 settlements, not in {0}")]
    OfLast(i64),

    #[error("{min_count} of the last {of_last} settlements can never be")]
    NeverReached { min_count: u32, of_last: u32 },

    #[error(
        "among settlements only `task.succeeded`, `task.failed` and `task.lease_lost` can be counted, not `{0}`"
    )]
    NoOutcome(String),

    #[error("settlements are counted, not weighed: leave the threshold at 0")]
    NotWeighed,

    #[error("{0}")]
    CapBites(Bite),
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::RuleId(_)
            | Self::SignalType(_)
            | Self::Window { .. }
            | Self::MinCount(_)
            | Self::OfLast(_)
            | Self::NeverReached { .. }
            | Self::NoOutcome(_)
            | Self::NotWeighed => ErrorKind::Invalid,
            Self::CapBites(_) => ErrorKind::Refused,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::RuleId(_) => "RULE_ID_INVALID",
            Self::SignalType(_) | Self::NoOutcome(_) => "SIGNAL_TYPE_INVALID",
            Self::Window { .. } => "WINDOW_INVALID",
            Self::MinCount(_) => "MIN_COUNT_INVALID",
            Self::OfLast(_) | Self::NeverReached { .. } => "OF_LAST_INVALID",
            Self::NotWeighed => "THRESHOLD_INVALID",
            Self::CapBites(_) => "QUARANTINE_CAP",
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::RuleId(_) => "rule.rule_id",
            Self::SignalType(_) | Self::NoOutcome(_) => "rule.signal_type",
            Self::Window { .. } => "rule.window",
            Self::MinCount(_) => "rule.min_count",
            Self::OfLast(_) | Self::NeverReached { .. } => "rule.of_last",
            Self::NotWeighed => "rule.threshold",
            Self::CapBites(_) => return None,
        };
        Some(field.to_owned())
    }
}
