//! Where a list of regions goes on: the last one seen, in a token that only the list it came from accepts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use cambium_kernel::WorkspaceId;
use cambium_proto::stigmergy::v1::{ListRegionsRequest, ListRegionsResponse, RegionSummary};
use cambium_stigmergy::Region;
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::store::region::Summary;

const DEFAULT: i32 = 50;
const MOST: i32 = 1_000;
/// So much of the filter's hash stands before the name.
const FILTER: usize = 8;

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    // INVARIANT: 1 to 1,000.
    pub(crate) size: usize,
    /// The last region seen; empty at the start.
    pub(crate) after: String,
    filter: [u8; FILTER],
}

impl Page {
    pub(crate) fn from_wire(
        workspace: &WorkspaceId,
        request: &ListRegionsRequest,
    ) -> Result<Self, Error> {
        let size = match request.page_size {
            0 => DEFAULT,
            1..=MOST => request.page_size,
            size => {
                let why = format!("{size} is outside 0 to 1,000");
                return Err(Error::field("page_size", why));
            }
        };
        let filter = filter(workspace, &request.region);
        Ok(Self {
            size: usize::try_from(size).expect("it is between 1 and 1,000"),
            after: after(&filter, &request.page_token)?,
            filter,
        })
    }

    /// The page, of what was found for it: one region more than it holds, if there are so many.
    pub(crate) fn to_wire(&self, mut found: Vec<Summary>) -> ListRegionsResponse {
        let has_more = found.len() > self.size;
        found.truncate(self.size);
        let last = found.last().filter(|_| has_more);
        ListRegionsResponse {
            next_page_token: last.map_or_else(String::new, |last| self.token(&last.region)),
            regions: found
                .into_iter()
                .map(|summary| RegionSummary {
                    region: summary.region,
                    markers: summary.markers,
                })
                .collect(),
        }
    }

    /// The token with which the list goes on after `last`.
    fn token(&self, last: &str) -> String {
        let mut bytes = self.filter.to_vec();
        bytes.extend_from_slice(last.as_bytes());
        BASE64.encode(bytes)
    }
}

fn after(filter: &[u8; FILTER], token: &str) -> Result<String, Error> {
    if token.is_empty() {
        return Ok(String::new());
    }
    let bytes = BASE64.decode(token).map_err(|_| Error::PageToken)?;
    let name = bytes.strip_prefix(filter).ok_or(Error::PageToken)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::PageToken)?;
    Region::parse(name).map_err(|_| Error::PageToken)?;
    Ok(name.to_owned())
}

fn filter(workspace: &WorkspaceId, region: &str) -> [u8; FILTER] {
    let hash = Sha256::new()
        .chain_update(workspace.as_str())
        .chain_update("\n")
        .chain_update(region)
        .finalize();
    std::array::from_fn(|n| hash[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(region: &str, page_token: String) -> ListRegionsRequest {
        ListRegionsRequest {
            region: region.to_owned(),
            page_size: 1,
            page_token,
            ..ListRegionsRequest::default()
        }
    }

    fn found(names: &[&str]) -> Vec<Summary> {
        let of = |name: &&str| Summary {
            region: (*name).to_owned(),
            markers: 1,
        };
        names.iter().map(of).collect()
    }

    #[test]
    fn a_token_leads_back_to_its_region_in_its_own_list_only() {
        let north = WorkspaceId::parse("north").unwrap();
        let south = WorkspaceId::parse("south").unwrap();
        let first = Page::from_wire(&north, &request("a", String::new())).unwrap();

        let token = first.to_wire(found(&["a/b", "a/c"])).next_page_token;

        let next = Page::from_wire(&north, &request("a", token.clone())).unwrap();
        assert_eq!((next.size, next.after.as_str()), (1, "a/b"));
        for (workspace, region) in [(&north, "b"), (&south, "a")] {
            let refused = Page::from_wire(workspace, &request(region, token.clone()));
            assert!(matches!(refused, Err(Error::PageToken)));
        }
    }

    #[test]
    fn the_last_page_has_no_token() {
        let north = WorkspaceId::parse("north").unwrap();
        let page = Page::from_wire(&north, &request("", String::new())).unwrap();

        assert_eq!(page.to_wire(found(&["a"])).next_page_token, "");
    }
}
