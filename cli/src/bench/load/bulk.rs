//! So many runs of one graph, from the first start to the last end.

use cambium_service_kit::shutdown::Stop;

use super::crew::Crew;
use super::cycle::LONG_POLL;
use super::parent::Parent;
use super::shape::Shape;
use super::site::{Site, Stored};
use super::tally::Tally;
use super::{beside, starts};
use crate::bench::client::Means;
use crate::context::Context;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk {
    pub(super) means: Means,
    pub(super) shape: Shape,
    pub(super) runs: u32,
    pub(super) in_flight: u32,
}

impl Bulk {
    pub(super) async fn run(self, context: &Context, parent: &mut Parent) -> anyhow::Result<()> {
        let site = Site::enter(context, &[]).await?;
        let stored = site.put(self.shape.graph()).await?;
        let crew = Crew::gather(&site, self.means, Tally::new(self.in_flight)).await?;
        let mut workers = crew.start(&Stop::new(), LONG_POLL);
        beside(&mut workers, self.measure(&site, &stored, &crew, parent)).await
    }

    async fn measure(
        self,
        site: &Site<'_>,
        stored: &Stored,
        crew: &Crew,
        parent: &mut Parent,
    ) -> anyhow::Result<()> {
        let tally = &crew.tally;
        starts::run(site, stored, tally, (self.in_flight, self.in_flight)).await?;
        parent.begin().await?;
        tally.measure(u64::MAX);
        starts::run(site, stored, tally, (self.runs, self.in_flight)).await?;
        parent.loaded(&tally.seen(None)?.loaded).await?;
        parent.closed(tally.closed()).await
    }
}
