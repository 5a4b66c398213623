//! hypha's truth table: when a node may run. Looks at counts alone; ends and orders of single edges are not its business.

use crate::Condition;

/// How the edges into a node decide whether it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Join {
    /// Runs when every edge has fired.
    #[default]
    All,
    /// Runs when the first edge fires.
    Any,
    /// Runs when no edge is open and at least one has fired.
    Settled,
    /// Runs when so many edges have fired.
    Quorum(u32),
    /// Runs when no edge is open and the condition on the end states upstream holds.
    Expr(Condition),
}

/// What has become of the edges into a node. The rest of `total` is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub fired: u32,
    pub dead: u32,
    pub total: u32,
}

impl Tally {
    /// How many edges have yet to fire or die.
    #[must_use]
    pub const fn open(self) -> u32 {
        self.total
            .saturating_sub(self.fired)
            .saturating_sub(self.dead)
    }
}

/// What a join says about its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Run,
    /// It can no longer run.
    Omit,
    Wait,
    /// Every edge is settled: the join's condition now says whether it runs or is omitted.
    Evaluate,
}

impl Join {
    /// Counts are enough: the answer cannot depend on the order in which edges settled.
    ///
    /// A decision is never taken back, and none is outstanding once no edge is open.
    #[must_use]
    pub const fn decide(&self, edges: Tally) -> Decision {
        let Tally { fired, dead, total } = edges;
        if total == 0 {
            return Decision::Run;
        }
        let open = edges.open();
        let (enough, hopeless) = match self {
            Self::All => (fired == total, dead > 0),
            Self::Any => (fired > 0, dead == total),
            Self::Settled => (open == 0 && fired > 0, dead == total),
            Self::Quorum(needed) => (fired >= *needed, fired + open < *needed),
            Self::Expr(_) if open == 0 => return Decision::Evaluate,
            Self::Expr(_) => return Decision::Wait,
        };
        match (enough, hopeless) {
            (true, _) => Decision::Run,
            (false, true) => Decision::Omit,
            (false, false) => Decision::Wait,
        }
    }
}

#[cfg(test)]
mod tests;
