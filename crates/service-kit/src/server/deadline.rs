//! How long a call may take: the client's own deadline, and for short calls at most the server's.

use std::time::Duration;

use http::HeaderMap;

use super::Pace;

/// The server's own limit for a short call.
const SHORT_CALL: Duration = Duration::from_secs(5);

/// Our timer comes first by this much: the transport's own, which answers with the wrong code, never gets its turn.
const HEAD_START: Duration = Duration::from_millis(2);

/// The time left to a call that arrives with these headers; `None` leaves it to the method.
pub(super) fn time_limit(pace: Pace, headers: &HeaderMap) -> Option<Duration> {
    let client = headers
        .get("grpc-timeout")
        .and_then(|value| parse(value.as_bytes()));
    let client = client.map(|timeout| timeout.saturating_sub(HEAD_START));
    match pace {
        Pace::Short | Pace::Health => {
            Some(client.map_or(SHORT_CALL, |limit| limit.min(SHORT_CALL)))
        }
        Pace::Held | Pace::Stream | Pace::HealthStream => client,
    }
}

/// Reads a `grpc-timeout`: one to eight digits and a unit. A malformed one counts as none, as in the transport.
fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let amount: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(amount * 3_600)),
        b'M' => Some(Duration::from_secs(amount * 60)),
        b'S' => Some(Duration::from_secs(amount)),
        b'm' => Some(Duration::from_millis(amount)),
        b'u' => Some(Duration::from_micros(amount)),
        b'n' => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(timeout: &'static str) -> HeaderMap {
        HeaderMap::from_iter([("grpc-timeout".parse().unwrap(), timeout.parse().unwrap())])
    }

    #[test]
    fn a_short_call_gets_the_shorter_of_both_limits() {
        assert_eq!(time_limit(Pace::Short, &HeaderMap::new()), Some(SHORT_CALL));
        assert_eq!(time_limit(Pace::Short, &headers("1H")), Some(SHORT_CALL));
        assert_eq!(
            time_limit(Pace::Short, &headers("100m")),
            Some(Duration::from_millis(98))
        );
    }

    #[test]
    fn a_held_call_waits_as_long_as_its_client() {
        assert_eq!(time_limit(Pace::Held, &HeaderMap::new()), None);
        assert_eq!(
            time_limit(Pace::Held, &headers("25S")),
            Some(Duration::from_millis(24_998))
        );
    }

    #[test]
    fn a_malformed_timeout_counts_as_none() {
        for text in ["", "S", "5", "123456789S", "5x", "-5S"] {
            assert_eq!(time_limit(Pace::Held, &headers(text)), None, "{text}");
        }
    }
}
