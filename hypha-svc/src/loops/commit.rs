//! The committer: drains the calls that wait and runs one transaction for all of them. Waits for company only when the last
//! transaction had some: whoever it answered is about to call again, and a lone call must not pay for a whole transaction.

use std::time::Duration;

use cambium_service_kit::batch;
use cambium_service_kit::shutdown::Stop;

use crate::engine::Engine;
use crate::engine::assign::Again;
use crate::engine::commit::{BATCH, run};
use crate::engine::op::Op;

/// What one transaction carries, in bytes, about: many large outputs at once, or very many small ones, would outlast the
/// statement's time limit.
const PART: usize = 8 << 20;

/// When another transaction holds the run of what was found, a later look finds it free.
const LATER: Duration = Duration::from_millis(5);

/// So many changes in one transaction are company.
const COMPANY: usize = 4;

/// How long the next transaction waits for as many again: about what the rest of a transaction costs.
const GATHER: Duration = Duration::from_millis(1);

pub(crate) async fn commit(engine: Engine, ops: batch::Receiver<Op>, stop: Stop) {
    let mut changes = 0;
    loop {
        if changes >= COMPANY && ops.waiting() < changes {
            tokio::time::sleep(GATHER).await;
        }
        let drained = tokio::select! {
            biased;
            drained = ops.drain(BATCH) => drained,
            () = stop.stopped() => return,
        };
        let Some(batch) = drained else {
            return;
        };
        changes = batch.iter().map(Op::changes).sum();
        let mut again = Again::default();
        for part in parts(batch, Op::weight, PART) {
            let done = run(&engine, part).await;
            again.now |= done.now;
            again.later |= done.later;
        }
        if again.now {
            engine.look();
        } else if again.later {
            let engine = engine.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await;
                engine.look();
            });
        }
    }
}

/// Cuts a batch, in its order, so that no part weighs more than `most`, unless a single item does.
fn parts<T>(batch: Vec<T>, weigh: impl Fn(&T) -> usize, most: usize) -> Vec<Vec<T>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut weight = 0;
    for item in batch {
        let more = weigh(&item);
        if weight + more > most && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            weight = 0;
        }
        weight += more;
        part.push(item);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parts;

    proptest! {
        #[test]
        fn a_cut_batch_keeps_its_order_and_its_weight(
            batch in proptest::collection::vec(0_usize..50, 0..60),
            most in 1_usize..100,
        ) {
            let cut = parts(batch.clone(), |weight| *weight, most);

            prop_assert!(cut.iter().all(|part| !part.is_empty()));
            prop_assert!(cut.iter().all(|part| part.len() == 1 || part.iter().sum::<usize>() <= most));
            prop_assert_eq!(cut.concat(), batch);
        }
    }
}
