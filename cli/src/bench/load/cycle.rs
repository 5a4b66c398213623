//! A closed loop: a run that ends makes room for the next, until the time is up.

use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::shutdown::Stop;
use tokio::time::{sleep, timeout};

use super::crew::Crew;
use super::parent::Parent;
use super::shape::Shape;
use super::site::Site;
use super::tally::Tally;
use super::{Workers, beside, joined, starts};
use crate::bench::client::Means;
use crate::context::Context;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) means: Means,
    pub(super) in_flight: u32,
    pub(super) seconds: u32,
}

pub(super) const WARM_UP: Duration = Duration::from_secs(2);
/// How long a poll waits: below the 25 s that the service allows.
pub(super) const LONG_POLL: Duration = Duration::from_secs(20);
/// How long what is under way may take to end.
pub(super) const CLOSING: Duration = Duration::from_secs(60);

impl Cycle {
    pub(super) async fn run(self, context: &Context, parent: &mut Parent) -> anyhow::Result<()> {
        let site = Site::enter(context, &[]).await?;
        let stored = site.put(Shape::Diamond.graph()).await?;
        let crew = Crew::gather(&site, self.means, Tally::new(self.in_flight)).await?;
        let mut workers = crew.start(&Stop::new(), LONG_POLL);
        let endless = (u64::MAX, self.in_flight);
        let starters = starts::start(&site, &stored, &crew.tally, endless)?;
        beside(&mut workers, self.measure(&crew.tally, starters, parent)).await
    }

    async fn measure(
        self,
        tally: &Tally,
        mut starters: Workers,
        parent: &mut Parent,
    ) -> anyhow::Result<()> {
        let seconds = Duration::from_secs(self.seconds.into());
        let window = async {
            sleep(WARM_UP).await;
            parent.begin().await?;
            tally.measure(u64::MAX);
            sleep(seconds).await;
            parent.loaded(&tally.seen(Some(seconds))?.loaded).await
        };
        beside(&mut starters, window).await?;

        tally.room.close();
        joined(starters).await?;
        timeout(CLOSING, tally.until_ended(tally.started_so_far()))
            .await
            .context("the last runs do not end")?;
        parent.closed(tally.closed()).await
    }
}
