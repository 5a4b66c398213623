//! Where a list of standings goes on.

use cambium_service_kit::page::Cursor;
use uuid::Uuid;

use crate::store::standing::After;

impl Cursor for After {
    fn as_text(&self) -> String {
        format!("{} {}", self.score, self.agent)
    }

    fn parse(text: &str) -> Option<Self> {
        let (score, agent) = text.split_once(' ')?;
        Some(Self {
            score: score.parse().ok()?,
            agent: Uuid::try_parse(agent).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back() {
        let after = After {
            score: 400_000,
            agent: Uuid::from_u128(7),
        };

        assert_eq!(Cursor::parse(&after.as_text()), Some(after));
    }
}
