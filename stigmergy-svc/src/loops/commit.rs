//! The committer: drains the calls that wait and runs one transaction for all of them. There is one: a workspace is had by
//! one transaction at a time, so a second would only make batches smaller.
//!
//! Waits for company only when the last transaction had some, and only as long as more comes: whoever it answered is about to
//! call again, and two halves of the callers must not take turns, each paying for a whole transaction.

use std::time::Duration;

use cambium_service_kit::batch::Receiver;
use cambium_service_kit::shutdown::Stop;

use crate::touch::{BATCH, Op, Toucher, run};

/// What one transaction carries, in bytes, about: many large payloads at once would outlast the statement's time limit.
const PART: usize = 8 << 20;

/// So many calls in one transaction are company.
const COMPANY: usize = 4;

/// How long the next transaction waits for one more, again and again.
const GATHER: Duration = Duration::from_millis(1);

/// How often it does: in all, about what a transaction costs beside its rows.
const GATHERINGS: usize = 4;

pub(crate) async fn commit(toucher: Toucher, ops: Receiver<Op>, stop: Stop) {
    let mut last = 0;
    loop {
        if last >= COMPANY {
            gather(&ops).await;
        }
        let drained = tokio::select! {
            biased;
            drained = ops.drain(BATCH) => drained,
            () = stop.stopped() => return,
        };
        let Some(batch) = drained else {
            return;
        };
        last = batch.len();
        for part in parts(batch) {
            run(&toucher, part).await;
        }
    }
}

/// Lets calls come together, as long as more of them come.
async fn gather(ops: &Receiver<Op>) {
    let mut waiting = ops.waiting();
    for _ in 0..GATHERINGS {
        tokio::time::sleep(GATHER).await;
        let now = ops.waiting();
        if now == waiting || now >= BATCH {
            break;
        }
        waiting = now;
    }
}

/// Cuts a batch, in its order, so that no part is too heavy, unless a single call is.
fn parts(batch: Vec<Op>) -> Vec<Vec<Op>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut weight = 0;
    for op in batch {
        let more = op.weight();
        if weight + more > PART && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            weight = 0;
        }
        weight += more;
        part.push(op);
    }
    parts.push(part);
    parts
}
