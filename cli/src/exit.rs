//! What the command tells the shell.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The thing asked for failed: a run, or the call itself.
    Failed,
    /// Wrong usage or a bad file.
    Usage,
    /// The service could not be reached.
    Unreachable,
    /// Not allowed, over a quota, or braked.
    Refused,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Refused => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
