//! Where a list goes on: the last name seen, in a token that only the list it came from accepts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use cambium_genesis::{Agent, AgentName};
use cambium_kernel::WorkspaceId;
use cambium_proto::genesis::v1::ListAgentsResponse;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::agent_to_wire;
use crate::error::Error;

const DEFAULT: i32 = 50;
const MOST: i32 = 1_000;
/// So much of the filter's hash stands before the name.
const FILTER: usize = 8;

/// Clients take replies of up to 4 MiB; an agent may have 50 KiB.
const ROOM: usize = 3 * 1024 * 1024;

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    // INVARIANT: 1 to 1,000.
    pub(crate) size: usize,
    pub(crate) after: Option<AgentName>,
}

impl Page {
    pub(crate) fn from_wire(
        workspace: &WorkspaceId,
        size: i32,
        token: &str,
    ) -> Result<Self, Error> {
        let size = match size {
            0 => DEFAULT,
            1..=MOST => size,
            _ => return Err(Error::PageSize(size)),
        };
        Ok(Self {
            size: usize::try_from(size).expect("it is between 1 and 1,000"),
            after: after(workspace, token)?,
        })
    }
}

fn after(workspace: &WorkspaceId, token: &str) -> Result<Option<AgentName>, Error> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = BASE64.decode(token).map_err(|_| Error::PageToken)?;
    let name = bytes
        .strip_prefix(&filter(workspace))
        .ok_or(Error::PageToken)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::PageToken)?;
    AgentName::parse(name)
        .map(Some)
        .map_err(|_| Error::PageToken)
}

/// The page's agents, and how the list goes on if there are more. A page that would be too large for a reply is shorter.
pub(crate) fn page_to_wire(
    workspace: &WorkspaceId,
    page: &Page,
    found: &[Agent],
) -> ListAgentsResponse {
    let mut reply = ListAgentsResponse::default();
    let mut bytes = 0;
    for agent in found.iter().take(page.size) {
        let next = agent_to_wire(agent);
        bytes += next.encoded_len();
        if bytes > ROOM && !reply.agents.is_empty() {
            break;
        }
        reply.agents.push(next);
    }
    let shown = reply.agents.len();
    if let Some(last) = found[..shown].last().filter(|_| shown < found.len()) {
        reply.next_page_token = token(workspace, &last.name);
    }
    reply
}

/// The token with which the list goes on after `last`.
fn token(workspace: &WorkspaceId, last: &AgentName) -> String {
    let mut bytes = filter(workspace).to_vec();
    bytes.extend_from_slice(last.as_str().as_bytes());
    BASE64.encode(bytes)
}

fn filter(workspace: &WorkspaceId) -> [u8; FILTER] {
    let hash = Sha256::digest(workspace.as_str());
    std::array::from_fn(|n| hash[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(name: &str) -> WorkspaceId {
        WorkspaceId::parse(name).unwrap()
    }

    #[test]
    fn a_token_leads_back_to_its_name() {
        let north = workspace("north");
        let ada = AgentName::parse("ada lovelace").unwrap();

        let page = Page::from_wire(&north, 0, &token(&north, &ada)).unwrap();

        assert_eq!(
            page,
            Page {
                size: 50,
                after: Some(ada)
            }
        );
    }

    #[test]
    fn a_token_of_another_list_is_refused() {
        let ada = AgentName::parse("ada").unwrap();
        let foreign = token(&workspace("south"), &ada);

        let refused = Page::from_wire(&workspace("north"), 0, &foreign);

        assert!(matches!(refused, Err(Error::PageToken)));
    }

    #[test]
    fn a_page_holds_1_to_1000() {
        let north = workspace("north");

        assert_eq!(Page::from_wire(&north, 1_000, "").unwrap().size, 1_000);
        assert!(matches!(
            Page::from_wire(&north, 1_001, ""),
            Err(Error::PageSize(1_001))
        ));
        assert!(matches!(
            Page::from_wire(&north, -1, ""),
            Err(Error::PageSize(-1))
        ));
    }
}
