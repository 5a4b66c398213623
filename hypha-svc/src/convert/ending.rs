//! Ends of attempts from the wire, whether they come by a call or in a frame.

use cambium_proto::hypha::v1 as wire;

use super::payload::{self, CHECKPOINT_LIMIT};
use super::{id, name, time_from_wire};
use crate::app::ending::{End, Ending};
use crate::engine::op::Usage;
use crate::error::Error;

const LONGEST_DETAIL: usize = 4 << 10;
/// Above this a figure is a mistake, not a cost: a million dollars for one attempt.
const DEAREST: i64 = 1_000_000_000_000;

/// An output that is refused ends its attempt all the same: the task fails with the reason, and the worker hears it.
pub(crate) fn complete<'a>(
    lease: Option<&'a wire::Lease>,
    output: &bytes::Bytes,
    usage: Option<wire::Usage>,
) -> Result<Ending<'a>, Error> {
    let usage = usage_from_wire(usage)?;
    let (end, told) = match payload::output(output) {
        Ok(output) => (End::Complete { output }, None),
        Err(fault) => {
            let end = End::Fail {
                code: fault.code().to_owned(),
                detail: fault.to_string(),
                retryable: false,
            };
            (end, Some(Error::Output(fault)))
        }
    };
    Ok(Ending {
        usage,
        told,
        ..of(lease, end)?
    })
}

pub(crate) fn fail(request: &wire::FailRequest) -> Result<Ending<'_>, Error> {
    name("code", &request.code)?;
    if request.detail.len() > LONGEST_DETAIL {
        return Err(Error::field("detail", "is over 4 KiB"));
    }
    if request.detail.contains('\0') {
        return Err(Error::field("detail", "holds a NUL"));
    }
    let end = End::Fail {
        code: request.code.clone(),
        detail: request.detail.clone(),
        retryable: request.retryable,
    };
    Ok(Ending {
        usage: usage_from_wire(request.usage)?,
        ..of(request.lease.as_ref(), end)?
    })
}

pub(crate) fn park(request: &wire::ParkRequest) -> Result<Ending<'_>, Error> {
    name("signal", &request.signal)?;
    let until = request.until.as_ref();
    let until = until.map(|until| time_from_wire("until", until));
    let end = End::Park {
        signal: request.signal.clone(),
        until: until.transpose()?,
        checkpoint: payload::from_wire("checkpoint", &request.checkpoint, CHECKPOINT_LIMIT)?,
    };
    of(request.lease.as_ref(), end)
}

pub(crate) fn release(request: &wire::ReleaseRequest) -> Result<Ending<'_>, Error> {
    of(request.lease.as_ref(), End::Release)
}

fn of(lease: Option<&wire::Lease>, end: End) -> Result<Ending<'_>, Error> {
    Ok(Ending {
        presented: id::lease(lease)?,
        text: lease.map_or("", |lease| lease.task_id.as_str()),
        end,
        usage: None,
        told: None,
    })
}

fn usage_from_wire(usage: Option<wire::Usage>) -> Result<Option<Usage>, Error> {
    let Some(usage) = usage else {
        return Ok(None);
    };
    if !(0..=DEAREST).contains(&usage.micro_usd) {
        return Err(Error::field("usage.micro_usd", "is outside 0 to 10^12"));
    }
    Ok(Some(Usage {
        micro_usd: usage.micro_usd,
        measured: usage.measured,
    }))
}

/// What came of an end, as a batch and a stream tell it.
pub(crate) fn result_to_wire(
    lease: Option<&wire::Lease>,
    ended: Result<wire::TaskState, Error>,
) -> wire::EndResult {
    let lease_id = lease
        .map(|lease| lease.lease_id.clone())
        .unwrap_or_default();
    match ended {
        Ok(state) => wire::EndResult {
            lease_id,
            state: state.into(),
            ..wire::EndResult::default()
        },
        Err(error) => {
            let reason = cambium_kernel::Failure::reason(&error).to_owned();
            // As a call would have said it: what is nobody's business stays inside.
            let status = tonic::Status::from(error);
            wire::EndResult {
                lease_id,
                reason,
                message: status.message().to_owned(),
                ..wire::EndResult::default()
            }
        }
    }
}
