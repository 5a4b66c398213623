//! Every way a rule of genesis can say no.

use cambium_kernel::{ErrorKind, Failure, NameError};

use crate::{AgentName, Capabilities};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the agent's name {0}")]
    Name(NameError),

    #[error("capability {index} {source}")]
    Capability { index: usize, source: NameError },

    #[error("{given} capabilities are over the limit of {}", Capabilities::MOST)]
    TooManyCapabilities { given: usize },

    #[error("an agent named `{0}` is enrolled with other capabilities")]
    NameTaken(AgentName),
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Name(_) | Self::Capability { .. } | Self::TooManyCapabilities { .. } => {
                ErrorKind::Invalid
            }
            Self::NameTaken(_) => ErrorKind::Taken,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Name(_) => "AGENT_NAME_INVALID",
            Self::Capability { .. } => "CAPABILITY_INVALID",
            Self::TooManyCapabilities { .. } => "CAPABILITIES_TOO_MANY",
            Self::NameTaken(_) => "AGENT_NAME_TAKEN",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Name(_) | Self::NameTaken(_) => Some("name".to_owned()),
            Self::Capability { index, .. } => Some(format!("capabilities[{index}]")),
            Self::TooManyCapabilities { .. } => Some("capabilities".to_owned()),
        }
    }
}
