use futures::FutureExt;
use proptest::prelude::*;

use super::*;

fn drained(receiver: &Receiver<u32>, max: usize) -> Option<Option<Vec<u32>>> {
    receiver.drain(max).now_or_never()
}

fn submitted(sender: &Sender<u32>, item: u32) -> Result<(), Full> {
    sender.submit(item).now_or_never().unwrap()
}

proptest! {
    #[test]
    fn every_item_is_taken_once_in_order_and_in_batches_within_the_bound(
        count in 1_u32..200,
        max in 1_usize..40,
    ) {
        let (sender, receiver) = channel(200);
        (0..count).for_each(|item| submitted(&sender, item).unwrap());
        drop(sender);

        let batches: Vec<Vec<u32>> = std::iter::from_fn(|| drained(&receiver, max).unwrap()).collect();

        prop_assert!(batches.iter().all(|batch| (1..=max).contains(&batch.len())));
        prop_assert_eq!(batches.concat(), (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn committers_share_the_work_without_loss_or_doubling(count in 1_u32..200, max in 1_usize..40) {
        let (sender, first) = channel(200);
        let second = first.clone();
        (0..count).for_each(|item| submitted(&sender, item).unwrap());
        drop(sender);

        let mut taken = Vec::new();
        while let Some(batch) = drained(&first, max).unwrap() {
            taken.extend(batch);
            taken.extend(drained(&second, max).unwrap().unwrap_or_default());
        }

        prop_assert_eq!(taken, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn a_lone_item_is_taken_at_once() {
    let (sender, receiver) = channel(8);

    submitted(&sender, 7).unwrap();

    assert_eq!(drained(&receiver, 64), Some(Some(vec![7])));
    assert_eq!(drained(&receiver, 64), None);
}

#[test]
fn a_drain_given_up_while_waiting_loses_nothing() {
    let (sender, receiver) = channel(8);

    assert_eq!(drained(&receiver, 64), None);
    submitted(&sender, 7).unwrap();

    assert_eq!(drained(&receiver, 64), Some(Some(vec![7])));
}

#[tokio::test]
async fn a_full_queue_makes_the_caller_wait_and_then_says_so() {
    let (sender, receiver) = channel(1);
    sender.submit(1).await.unwrap();

    let refused = sender.submit_within(2, Duration::from_millis(1)).await;

    assert_eq!(refused, Err(Full::NoRoom));
    assert_eq!(receiver.drain(8).await, Some(vec![1]));
}

#[tokio::test]
async fn room_that_appears_is_used() {
    let (sender, receiver) = channel(1);
    sender.submit(1).await.unwrap();

    let (second, first) = tokio::join!(sender.submit(2), receiver.drain(1));

    assert_eq!(first, Some(vec![1]));
    assert_eq!(second, Ok(()));
}

#[test]
fn once_the_committers_are_gone_work_is_refused() {
    let (sender, receiver) = channel(1);

    drop(receiver);

    assert_eq!(submitted(&sender, 1), Err(Full::Closed));
}
