//! Follows a stream of numbered events through cuts of the connection, until Ctrl-C or a failure that no patience helps against.

use cambium_client::{Policy, refusal};
use cambium_service_kit::shutdown;
use tonic::{Code, Response, Status, Streaming};

/// How long a service may be away while somebody watches.
const PATIENCE: Policy = crate::follow::PATIENCE;

/// What a cut was.
enum Cut {
    Service(Status),
    Own(anyhow::Error),
}

/// Tells every event after `after`, and keeps there the sequence of the last one: `told` prints it and answers it.
pub(crate) async fn each<M, O, F>(
    after: &mut i64,
    open: O,
    told: impl Fn(&M) -> anyhow::Result<i64>,
) -> anyhow::Result<()>
where
    O: Fn(i64) -> F,
    F: Future<Output = Result<Response<Streaming<M>>, Status>>,
{
    tokio::select! {
        failed = without_end(after, open, told) => Err(failed),
        () = shutdown::signalled() => Ok(()),
    }
}

async fn without_end<M, O, F>(
    after: &mut i64,
    open: O,
    told: impl Fn(&M) -> anyhow::Result<i64>,
) -> anyhow::Error
where
    O: Fn(i64) -> F,
    F: Future<Output = Result<Response<Streaming<M>>, Status>>,
{
    let mut tried = 0;
    loop {
        let before = *after;
        let status = match one(after, &open, &told).await {
            Cut::Service(status) => status,
            Cut::Own(error) => return error,
        };
        tried = if *after > before { 1 } else { tried + 1 };
        let passes = refusal::is_transport(&status) || status.code() == Code::ResourceExhausted;
        if !passes || tried >= PATIENCE.attempts {
            return status.into();
        }
        tokio::time::sleep(PATIENCE.backoff(tried, rand::random())).await;
    }
}

/// One stream, to its cut.
async fn one<M, O, F>(after: &mut i64, open: &O, told: &impl Fn(&M) -> anyhow::Result<i64>) -> Cut
where
    O: Fn(i64) -> F,
    F: Future<Output = Result<Response<Streaming<M>>, Status>>,
{
    let mut events = match open(*after).await {
        Ok(reply) => reply.into_inner(),
        Err(status) => return Cut::Service(status),
    };
    loop {
        match events.message().await {
            Ok(Some(event)) => match told(&event) {
                Ok(seq) => *after = seq.max(*after),
                Err(error) => return Cut::Own(error),
            },
            Ok(None) => {
                return Cut::Service(Status::unavailable("the service ended the stream"));
            }
            Err(status) => return Cut::Service(status),
        }
    }
}
