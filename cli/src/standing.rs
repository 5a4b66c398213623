//! How agents stand, for commands that are about something else: an immune that is absent or away is told once, and fails
//! nothing.

use std::collections::BTreeMap;

use cambium_client::{Connection, refusal};
use cambium_proto::immune::v1::{Badge, GetStandingRequest, HealthBand, Standing};
use console::Style;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use crate::ask::ask;
use crate::bar::bar;
use crate::context::hint;
use crate::json::word;

/// Calls at once.
const AT_ONCE: usize = 16;

/// The standings of those agents that have one, by id; `None` where nobody keeps any. Says why, to people.
pub(crate) async fn of(
    connection: &Connection,
    workspace: &str,
    agent_ids: &[String],
) -> Option<BTreeMap<String, Standing>> {
    let mut found = BTreeMap::new();
    for ids in agent_ids.chunks(AT_ONCE) {
        let mut asks = JoinSet::new();
        for id in ids {
            asks.spawn(one(connection.clone(), workspace.to_owned(), id.clone()));
        }
        for asked in asks.join_all().await {
            match asked {
                Ok(Some(standing)) => {
                    found.insert(standing.agent_id.clone(), standing);
                }
                Ok(None) => {}
                Err(status) => {
                    hint(&left_out(&status));
                    return None;
                }
            }
        }
    }
    Some(found)
}

/// One agent's standing; none for an agent that immune has not heard of.
async fn one(
    connection: Connection,
    workspace_id: String,
    agent_id: String,
) -> Result<Option<Standing>, Status> {
    let request = GetStandingRequest {
        workspace_id,
        agent_id,
        name: String::new(),
    };
    match ask!(connection, standings.get_standing(request)) {
        Ok(reply) => Ok(reply.standing),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}

/// Whether nobody is there to answer, rather than somebody who refuses.
pub(crate) fn is_absent(status: &Status) -> bool {
    status.code() == Code::Unimplemented || refusal::is_transport(status)
}

fn left_out(status: &Status) -> String {
    let why = if is_absent(status) {
        "immune does not answer here"
    } else {
        status.message()
    };
    format!("trust, generosity and health are left out: {why}")
}

/// A badge as people read it.
const fn title(badge: Badge) -> &'static str {
    match badge {
        Badge::Unspecified => "",
        Badge::Hoarding => "Hoarding detected",
        Badge::Overextended => "Overextended",
        Badge::Quarantined => "Quarantined",
        Badge::New => "New",
    }
}

const BADGES: [Badge; 4] = [
    Badge::Hoarding,
    Badge::Overextended,
    Badge::Quarantined,
    Badge::New,
];

/// Orange, yellow, purple; the dashboard has the same.
fn style(badge: Badge) -> Style {
    match badge {
        Badge::Hoarding => Style::new().color256(208).bold(),
        Badge::Overextended => Style::new().yellow().bold(),
        Badge::Quarantined => Style::new().color256(135).bold(),
        Badge::New | Badge::Unspecified => Style::new().dim(),
    }
}

pub(crate) fn badges(standing: &Standing) -> String {
    let titles: Vec<&str> = standing.badges().map(title).collect();
    titles.join(", ")
}

/// Colours the badges of a text that is laid out, where the terminal has colours: before, they would count as width.
pub(crate) fn painted(text: &str) -> String {
    BADGES.iter().fold(text.to_owned(), |text, badge| {
        let title = title(*badge);
        // The last one is a common word, and dim: only as a badge of its own.
        if *badge == Badge::New {
            return text;
        }
        text.replace(title, &style(*badge).apply_to(title).to_string())
    })
}

/// The bar of the health with its band, unless it is well.
pub(crate) fn health(standing: &Standing) -> String {
    let bar = bar(standing.health);
    match standing.health_band() {
        HealthBand::Unspecified => bar,
        band => {
            let band = word(band.as_str_name(), "HEALTH_BAND_");
            format!("{bar} {band}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing() -> Standing {
        Standing {
            health: 0.55,
            health_band: HealthBand::Stressed.into(),
            badges: vec![Badge::Hoarding.into(), Badge::New.into()],
            ..Standing::default()
        }
    }

    #[test]
    fn badges_are_told_in_words() {
        assert_eq!(badges(&standing()), "Hoarding detected, New");
        assert_eq!(badges(&Standing::default()), "");
    }

    #[test]
    fn health_is_told_with_its_band() {
        assert_eq!(health(&standing()), "██████░░░░ 0.55 stressed");
    }

    #[test]
    fn painting_changes_no_word() {
        let text = "ada  Hoarding detected, Overextended, Quarantined, New";

        assert_eq!(console::strip_ansi_codes(&painted(text)), text);
    }

    #[test]
    fn a_service_that_is_not_there_is_no_failure() {
        assert!(is_absent(&Status::unimplemented("")));
        assert!(is_absent(&Status::unavailable("")));
        assert!(!is_absent(&Status::permission_denied("")));
        assert!(left_out(&Status::permission_denied("not yours")).ends_with("not yours"));
    }
}
