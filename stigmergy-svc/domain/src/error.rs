//! Every way a rule of stigmergy can say no.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure, MarkerId};
use chrono::TimeDelta;

use crate::Region;
use crate::payload::PayloadFault;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("`region` {why}")]
    RegionMalformed { why: &'static str },

    #[error("`type` {why}")]
    TypeMalformed { why: &'static str },

    #[error(
        "`{0}` is no category: a type starts with path, resource, quality, danger, opportunity or knowledge"
    )]
    CategoryUnknown(String),

    #[error("an intensity of {given} is outside 0 to 1")]
    IntensityOutOfRange { given: f64 },

    #[error("a half-life of {seconds} s is outside 30 s to 30 days")]
    HalfLifeOutOfRange { seconds: i32 },

    #[error("the payload {0}")]
    Payload(#[from] PayloadFault),

    #[error("marker {0} is the caller's own: others build on it")]
    OwnMarker(MarkerId),

    #[error("the caller has transformed marker {0} before")]
    AlreadyTransformed(MarkerId),

    #[error("marker {id} has version {current}, not {expected}")]
    VersionMoved {
        id: MarkerId,
        expected: i64,
        current: i64,
    },

    #[error("10 operations in region `{region}` within 60 s are the limit")]
    RateLimited { region: Region, wait: TimeDelta },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Payload(PayloadFault::TooLarge { .. }) | Self::RateLimited { .. } => {
                ErrorKind::Exhausted
            }
            Self::RegionMalformed { .. }
            | Self::TypeMalformed { .. }
            | Self::CategoryUnknown(_)
            | Self::IntensityOutOfRange { .. }
            | Self::HalfLifeOutOfRange { .. }
            | Self::Payload(PayloadFault::NotJson(_) | PayloadFault::Nul | PayloadFault::TooDeep) => {
                ErrorKind::Invalid
            }
            Self::OwnMarker(_) | Self::AlreadyTransformed(_) => ErrorKind::Refused,
            Self::VersionMoved { .. } => ErrorKind::Conflict,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::RegionMalformed { .. } => "REGION_INVALID",
            Self::TypeMalformed { .. } => "MARKER_TYPE_INVALID",
            Self::CategoryUnknown(_) => "CATEGORY_UNKNOWN",
            Self::IntensityOutOfRange { .. } => "INTENSITY_INVALID",
            Self::HalfLifeOutOfRange { .. } => "HALF_LIFE_INVALID",
            Self::Payload(PayloadFault::TooLarge { .. }) => "PAYLOAD_TOO_LARGE",
            Self::Payload(_) => "PAYLOAD_INVALID",
            Self::OwnMarker(_) => "MARKER_IS_OWN",
            Self::AlreadyTransformed(_) => "ALREADY_TRANSFORMED",
            Self::VersionMoved { .. } => "MARKER_VERSION_MOVED",
            Self::RateLimited { .. } => "RATE_LIMITED",
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::RegionMalformed { .. } => "region",
            Self::TypeMalformed { .. } | Self::CategoryUnknown(_) => "type",
            Self::IntensityOutOfRange { .. } => "intensity",
            Self::HalfLifeOutOfRange { .. } => "half_life_s",
            Self::Payload(_) => "payload",
            Self::OwnMarker(_)
            | Self::AlreadyTransformed(_)
            | Self::VersionMoved { .. }
            | Self::RateLimited { .. } => return None,
        };
        Some(field.to_owned())
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => wait.to_std().ok(),
            Self::RegionMalformed { .. }
            | Self::TypeMalformed { .. }
            | Self::CategoryUnknown(_)
            | Self::IntensityOutOfRange { .. }
            | Self::HalfLifeOutOfRange { .. }
            | Self::Payload(_)
            | Self::OwnMarker(_)
            | Self::AlreadyTransformed(_)
            | Self::VersionMoved { .. } => None,
        }
    }
}
