//! How the load takes and ends its tasks: by which calls, and how many of them at once. Makes no call itself.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How tasks are taken and ended.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Client")]
pub(super) struct Flags {
    /// Over the bidirectional stream instead of by calls
    #[arg(long)]
    stream: bool,
    /// Streams at once, each on a connection of its own
    #[arg(long, value_name = "N", default_value_t = 4, requires = "stream", value_parser = clap::value_parser!(u32).range(1..=64))]
    streams: u32,
    /// Tasks that a stream holds at once [default: as many as there are to do, from 16 to 64]
    #[arg(long, value_name = "N", requires = "stream", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    credit: Option<u32>,
    /// Tasks that one call ends and asks for [default: 1, or 64 where one graph is large]
    #[arg(long, value_name = "N", conflicts_with = "stream", value_parser = clap::value_parser!(u32).range(1..=100))]
    batch: Option<u32>,
    /// Callers at once [default: enough for all that can be running]
    #[arg(long, value_name = "N", conflicts_with = "stream", value_parser = clap::value_parser!(u32).range(1..=400))]
    hands: Option<u32>,
}

/// The calls of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Means {
    /// So many callers, each with one call under way.
    Calls {
        hands: u32,
        batch: u32,
    },
    Streams {
        streams: u32,
        credit: u32,
    },
}

/// With the calls that start runs, these stay below the 512 short calls that a service works on at once.
const MOST_HANDS: u32 = 400;
/// A single caller would never wait while another task becomes ready.
const FEWEST_HANDS: u32 = 2;
/// Below it a stream idles between frames; above it a frame is no larger, since a transaction is full.
const CREDIT: (u32, u32) = (16, 64);

impl Flags {
    /// `at_once` tasks can be running; `batch` is what one call ends unless the flags say otherwise.
    pub(super) fn means(&self, at_once: u32, batch: u32) -> Means {
        if self.stream {
            let share = at_once.div_ceil(self.streams);
            return Means::Streams {
                streams: self.streams,
                credit: self.credit.unwrap_or(share.clamp(CREDIT.0, CREDIT.1)),
            };
        }
        let batch = self.batch.unwrap_or(batch);
        let hands = at_once.div_ceil(batch).clamp(FEWEST_HANDS, MOST_HANDS);
        Means::Calls {
            hands: self.hands.unwrap_or(hands),
            batch,
        }
    }
}

impl Means {
    /// Whether many tasks share a call or a frame.
    pub(super) const fn is_grouped(self) -> bool {
        !matches!(self, Self::Calls { batch: 1, .. })
    }

    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Streams { .. })
    }
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls { batch: 1, .. } => f.write_str("unary"),
            Self::Calls { batch, .. } => write!(f, "batch-{batch}"),
            Self::Streams { streams, credit } => write!(f, "stream-{streams}x{credit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
    }

    fn means(line: &str, at_once: u32, batch: u32) -> Means {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Cli::parse_from(words).flags.means(at_once, batch)
    }

    #[test]
    fn there_are_hands_for_all_that_can_run_and_never_too_many_for_the_service() {
        let hands = |at_once, batch| match means("", at_once, batch) {
            Means::Calls { hands, .. } => hands,
            Means::Streams { .. } => 0,
        };

        assert_eq!((hands(64, 1), hands(800, 1)), (64, MOST_HANDS));
        assert_eq!((hands(800, 64), hands(2, 1), hands(1, 64)), (13, 2, 2));
    }

    #[test]
    fn a_stream_holds_its_share_within_bounds() {
        let credit = |line, at_once| match means(line, at_once, 1) {
            Means::Streams { credit, .. } => credit,
            Means::Calls { .. } => 0,
        };

        assert_eq!(credit("--stream", 2), 16);
        assert_eq!(credit("--stream", 64), 16);
        assert_eq!(credit("--stream --streams 2", 64), 32);
        assert_eq!(credit("--stream", 800), 64);
        assert_eq!(credit("--stream --credit 7", 800), 7);
    }

    #[test]
    fn a_client_is_named_by_what_shapes_its_calls() {
        let name = |line| means(line, 64, 1).to_string();

        assert_eq!(name(""), "unary");
        assert_eq!(name("--hands 9"), "unary");
        assert_eq!(name("--batch 64"), "batch-64");
        assert_eq!(name("--stream --streams 2 --credit 8"), "stream-2x8");
    }

    #[test]
    fn a_stream_takes_no_flags_of_calls() {
        for line in ["--stream --batch 2", "--stream --hands 2", "--credit 4"] {
            let words = std::iter::once("bench").chain(line.split_whitespace());

            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
