//! What a batch came to: what is to be written, and who is to hear of it. Decides nothing any more.

use cambium_kernel::WorkspaceId;
use cambium_proto::signal::v1::Signal;

use super::Plan;
use crate::store::touch::{NewReceipt, Touched, Window, Written};

impl Plan {
    /// The signals that are told to others, taken out.
    pub(in crate::touch) fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    /// The workspaces in which something happened.
    pub(in crate::touch) fn news(&self) -> impl Iterator<Item = &WorkspaceId> {
        let is_new = |workspace: &&WorkspaceId| self.events.iter().any(|(w, _)| w == *workspace);
        self.last_seqs.keys().filter(is_new)
    }

    /// Whether anything is to be written.
    pub(in crate::touch) fn is_empty(&self) -> bool {
        self.events.is_empty() && !self.windows.values().any(|window| window.is_touched)
    }

    /// What is to be written, in an order that does not depend on who called first.
    pub(in crate::touch) fn written(&self) -> Written<'_> {
        let markers = self.markers.iter().filter(|(_, draft)| draft.is_touched);
        let (placed, touched): (Vec<_>, Vec<_>) = markers.partition(|(_, draft)| draft.is_new);
        let windows = self.windows.iter().filter(|(_, window)| window.is_touched);
        let regions = self.regions.iter().filter(|(_, alive)| alive.is_touched);
        let receipts = self.receipts.iter().filter(|(_, receipt)| receipt.is_new);
        Written {
            now: self.now,
            last_seqs: self.news().map(|w| (w, self.last_seqs[w])).collect(),
            placed: placed
                .into_iter()
                .map(|((workspace, _), draft)| (workspace, &draft.stored))
                .collect(),
            touched: touched
                .into_iter()
                .map(|((workspace, _), draft)| Touched {
                    workspace,
                    stored: &draft.stored,
                    is_rewritten: draft.is_rewritten,
                })
                .collect(),
            windows: windows
                .map(|((workspace, (author, region)), window)| Window {
                    workspace,
                    author,
                    region,
                    accepted: &window.accepted,
                })
                .collect(),
            events: &self.events,
            receipts: receipts
                .map(|((scope, request_id), receipt)| NewReceipt {
                    scope,
                    request_id: *request_id,
                    body_hash: &receipt.body_hash,
                    reply: &receipt.reply,
                })
                .collect(),
            regions: regions
                .map(|((workspace, region), alive)| (workspace, region, alive.until))
                .collect(),
            versions: &self.versions,
            signals: Vec::new(),
        }
    }
}
