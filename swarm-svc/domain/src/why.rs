//! Why a mind has no turn, why a tick launched nothing, why a candidate was passed over: one closed set of words
//! (design: swarm, section 11). Decides nothing.

use std::fmt;

/// What stands in the way of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The mind is not open: proposed, declined, retired or moved.
    Retired,
    Brake,
    Share,
    Session,
    Rest,
    Persona,
    Retry,
    /// It has no reason to wake.
    Idle,
    Live,
    Dial,
    Preempt,
    Slots,
    Bucket,
    Wallet,
    /// Others have used less for their share.
    Behind,
    /// No mind is runnable.
    Nobody,
}

impl Why {
    pub const ALL: [Self; 16] = [
        Self::Retired,
        Self::Brake,
        Self::Share,
        Self::Session,
        Self::Rest,
        Self::Persona,
        Self::Retry,
        Self::Idle,
        Self::Live,
        Self::Dial,
        Self::Preempt,
        Self::Slots,
        Self::Bucket,
        Self::Wallet,
        Self::Behind,
        Self::Nobody,
    ];

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == text)
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retired => "RETIRED",
            Self::Brake => "BRAKE",
            Self::Share => "SHARE",
            Self::Session => "SESSION",
            Self::Rest => "REST",
            Self::Persona => "PERSONA",
            Self::Retry => "RETRY",
            Self::Idle => "IDLE",
            Self::Live => "LIVE",
            Self::Dial => "DIAL",
            Self::Preempt => "PREEMPT",
            Self::Slots => "SLOTS",
            Self::Bucket => "BUCKET",
            Self::Wallet => "WALLET",
            Self::Behind => "BEHIND",
            Self::Nobody => "NOBODY",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
