//! What one rule has counted of one agent. What made it fire is spent: it never fires twice on the same signals.

use chrono::{DateTime, Utc};

use crate::recent::Recent;
use crate::rule::{Rule, Span};

/// The memory of a rule about an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// When the signals happened that may still count, in order.
    pub times: Vec<DateTime<Utc>>,
    /// How many settlements the agent had had at the last firing.
    pub spent: i64,
}

impl Tally {
    /// Counts a signal that the rule looks at. Tells whether the rule fires; for a settlement `recent` holds it already.
    pub fn count(&mut self, rule: &Rule, at: DateTime<Utc>, recent: &Recent) -> bool {
        match rule.span {
            Span::Within(window) => {
                let place = self.times.partition_point(|time| *time <= at);
                self.times.insert(place, at);
                let newest = self.times.last().copied().unwrap_or(at);
                self.times.retain(|time| newest - *time <= window);
                let fires = self.times.len() >= rule.min_count as usize;
                if fires {
                    self.times.clear();
                }
                fires
            }
            Span::OfLast(of_last) => {
                let counted = recent.count(&rule.signal_type, of_last, self.spent);
                let fires = counted >= rule.min_count as usize;
                if fires {
                    self.spent = recent.settled();
                }
                fires
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::recent::Outcome;
    use crate::rule::built_in;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn firings(rule: &str, seconds: &[i64]) -> usize {
        let (rule, mut tally) = (built_in(rule).unwrap(), Tally::default());
        seconds
            .iter()
            .filter(|second| tally.count(&rule, at(**second), &Recent::default()))
            .count()
    }

    #[test]
    fn three_stale_completions_in_five_minutes_fire_once() {
        assert_eq!(firings("fenced-writes", &[0, 150, 300]), 1);
        assert_eq!(firings("fenced-writes", &[300, 0, 150]), 1);
        assert_eq!(firings("fenced-writes", &[0, 150, 301]), 0);
        assert_eq!(firings("fenced-writes", &[0, 1, 2, 3, 4]), 1);
        assert_eq!(firings("fenced-writes", &[0, 1, 2, 3, 4, 5]), 2);
    }

    #[test]
    fn ten_failures_of_twenty_fire_and_are_spent() {
        let (rule, mut tally) = (built_in("failure-burst").unwrap(), Tally::default());
        let mut recent = Recent::default();
        let mut fired_at = Vec::new();

        for n in 1..=60 {
            let outcome = if n % 2 == 0 {
                Outcome::Failed
            } else {
                Outcome::Succeeded
            };
            recent.push(outcome);
            if outcome == Outcome::Failed && tally.count(&rule, at(n), &recent) {
                fired_at.push(n);
            }
        }

        assert_eq!(fired_at, [20, 40, 60]);
    }

    proptest! {
        #[test]
        fn a_rule_fires_no_oftener_than_its_count_allows(
            mut seconds in prop::collection::vec(0_i64..3_000, 0..100),
        ) {
            let most = seconds.len() / 5;
            let fired = firings("marker-spam", &seconds);
            prop_assert!(fired <= most);

            // At one moment none is lost: then it fires as often as that.
            seconds.fill(7);
            prop_assert_eq!(firings("marker-spam", &seconds), most);
        }
    }
}
