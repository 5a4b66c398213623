//! A call on its way through a batch.

use cambium_kernel::{MarkerId, WorkspaceId};
use cambium_service_kit::call::Call;
use cambium_stigmergy::payload::Payload;
use cambium_stigmergy::{Author, Placement, Region};
use tokio::sync::oneshot;

use super::Answer;
use crate::error::Error;
use crate::store::touch::Asked;

/// What somebody wants to do to a mark.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    Place {
        placement: Placement,
        /// More than the cap was asked for.
        is_capped: bool,
        payload: Option<Payload>,
    },
    Reinforce(MarkerId),
    Transform {
        marker: MarkerId,
        payload: Option<Payload>,
        /// 0: whatever it has.
        expected_version: i64,
    },
}

/// One call, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) call: Call,
    /// Of its receipt.
    pub(crate) scope: String,
    pub(crate) workspace: WorkspaceId,
    pub(crate) author: Author,
    pub(crate) wish: Wish,
    pub(crate) reply: oneshot::Sender<Result<Answer, Error>>,
}

impl Wish {
    pub(crate) const fn marker(&self) -> Option<MarkerId> {
        match self {
            Self::Place { .. } => None,
            Self::Reinforce(marker) | Self::Transform { marker, .. } => Some(*marker),
        }
    }

    const fn region(&self) -> Option<&Region> {
        match self {
            Self::Place { placement, .. } => Some(&placement.region),
            Self::Reinforce(_) | Self::Transform { .. } => None,
        }
    }

    fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Place { payload, .. } | Self::Transform { payload, .. } => payload.as_ref(),
            Self::Reinforce(_) => None,
        }
    }
}

impl Op {
    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            workspace: &self.workspace,
            author: &self.author,
            scope: &self.scope,
            request_id: self.call.request_id,
            marker: self.wish.marker(),
            region: self.wish.region(),
        }
    }

    /// What it brings along, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.wish
            .payload()
            .map_or(0, |payload| payload.as_str().len())
    }

    /// Whoever stopped waiting needs no answer.
    pub(crate) fn answer(self, answer: Result<Answer, Error>) {
        let _ = self.reply.send(answer);
    }
}
