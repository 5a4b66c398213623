//! Names that people give: workspaces, capabilities, agents, workers, keys.

use std::fmt;
use std::sync::Arc;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("is empty")]
    Empty,
    #[error("has {length} characters, over the limit of 128")]
    TooLong { length: usize },
    #[error("holds a control character")]
    Control,
}

/// Checks a name: 1 to 128 characters, none of them a control character.
pub fn check_name(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    let length = text.chars().count();
    if length > 128 {
        return Err(NameError::TooLong { length });
    }
    if text.chars().any(char::is_control) {
        return Err(NameError::Control);
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            // INVARIANT: 1 to 128 characters, none of them a control character.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check_name(text)?;
                Ok(Self(text.into()))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

name!(
    /// The wall between tenants: a thing of one workspace does not exist in another.
    WorkspaceId
);
name!(
    /// Something an agent can do, as in `role:writer` or `translate:is`.
    Capability
);
