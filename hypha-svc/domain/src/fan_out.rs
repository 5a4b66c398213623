//! Running a node once for each item of a list, and what becomes of the group. Members' own ends are join's business.

use serde_json::Value;

use crate::{EndState, Path};

/// How many members one node may have.
pub const LIMIT: usize = 20_000;

/// Why a node cannot be run for each item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FanOutFault {
    #[error("what the fan-out goes over is no list")]
    NotAList,
    #[error("the fan-out goes over a list of {items} items, above the limit of {LIMIT}")]
    TooLarge { items: usize },
}

impl FanOutFault {
    /// The failure code of the node.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotAList => "FAN_OUT_NOT_A_LIST",
            Self::TooLarge { .. } => "FAN_OUT_TOO_LARGE",
        }
    }
}

/// The items that `path` names in `document`, its root's JSON. A path that leads nowhere is no list.
pub fn items(path: &Path, document: &Value) -> Result<Vec<Value>, FanOutFault> {
    let list = path
        .select(document)
        .and_then(Value::as_array)
        .ok_or(FanOutFault::NotAList)?;
    if list.len() > LIMIT {
        return Err(FanOutFault::TooLarge { items: list.len() });
    }
    Ok(list.clone())
}

/// How a group ended all of whose members have ended; `failed` and `cancelled` count members.
#[must_use]
pub const fn group_state(total: u32, failed: u32, cancelled: u32) -> EndState {
    match (total, failed, cancelled) {
        (0, _, _) => EndState::Skipped,
        (_, 1.., _) => EndState::Failed,
        (_, 0, 1..) => EndState::Cancelled,
        (_, 0, 0) => EndState::Succeeded,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_deep_in_the_document_is_found() {
        let path = Path::parse("inputs.plan.steps").unwrap();

        assert_eq!(
            items(&path, &json!({"steps": [1, "b"]})),
            Ok(vec![json!(1), json!("b")])
        );
        assert_eq!(items(&path, &json!({"steps": []})), Ok(vec![]));
    }

    #[test]
    fn what_is_missing_or_no_list_is_no_list() {
        let path = Path::parse("input.a.b").unwrap();

        for document in [
            json!(null),
            json!({"a": 1}),
            json!({"a": {"b": {}}}),
            json!([]),
        ] {
            assert_eq!(items(&path, &document), Err(FanOutFault::NotAList));
        }
    }

    #[test]
    fn a_list_of_twenty_thousand_is_the_longest() {
        let path = Path::parse("input").unwrap();

        assert_eq!(
            items(&path, &json!(vec![0; LIMIT])).map(|items| items.len()),
            Ok(LIMIT)
        );
        assert_eq!(
            items(&path, &json!(vec![0; LIMIT + 1])),
            Err(FanOutFault::TooLarge { items: LIMIT + 1 })
        );
    }

    #[test]
    fn an_empty_group_is_skipped_and_one_failure_fails_it() {
        assert_eq!(group_state(0, 0, 0), EndState::Skipped);
        assert_eq!(group_state(3, 1, 2), EndState::Failed);
        assert_eq!(group_state(3, 0, 2), EndState::Cancelled);
        assert_eq!(group_state(3, 0, 0), EndState::Succeeded);
    }

    proptest! {
        #[test]
        fn a_group_succeeds_only_if_every_member_did(total in 1_u32.., failed: u32, cancelled: u32) {
            let succeeded = group_state(total, failed, cancelled) == EndState::Succeeded;

            prop_assert_eq!(succeeded, failed == 0 && cancelled == 0);
        }
    }
}
