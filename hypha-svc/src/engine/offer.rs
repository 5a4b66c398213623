//! Free slots of workers that wait for work, and hints where work may lie.
//!
//! An offer is answered once, after a commit that leased something to it, or when its wait is over. Hints are generations:
//! a queue may hold work while its news are ahead of what the last short search had seen; an in-memory count would drift.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambium_hypha::matching::Bid;
use cambium_kernel::{AgentId, Capability};
use tokio::sync::{mpsc, oneshot};

use super::Engine;
use super::grant::{Granted, Grants};
use super::registration::Registration;
use super::roster::Roster;
use crate::store::engine::Search;
use crate::store::queue::Queue;

/// Orders offers: longest waiting first, and those in a completion's reply before all others.
pub(crate) type OfferId = i64;

#[derive(Debug)]
struct Offer {
    registration: Arc<Registration>,
    free: u32,
    /// Slots promised to a transaction that has not ended yet.
    reserved: u32,
    reply: Reply,
    gone: bool,
}

/// Where what an offer gets is sent.
#[derive(Debug)]
enum Reply {
    /// A poll: answered once, then gone.
    Once(oneshot::Sender<Grants>),
    /// A stream: answered whenever its credit gets something.
    Stream(mpsc::UnboundedSender<Grants>),
}

impl Offer {
    /// Whether work may be promised to it.
    fn is_open(&self) -> bool {
        self.free > 0 && !self.gone && !self.registration.draining.load(Ordering::Relaxed)
    }
}

/// A slot promised to a transaction.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) offer: OfferId,
    pub(crate) reg: i32,
    pub(crate) agent: AgentId,
}

/// What is known of one queue and priority.
#[derive(Clone, Copy, Debug, Default)]
struct Hint {
    news: u64,
    clean: u64,
    /// The last turn that was claimed: what lies below is dead.
    cursor: i64,
}

#[derive(Debug, Default)]
struct State {
    last: i64,
    first: i64,
    offers: BTreeMap<OfferId, Offer>,
    /// The same offers by the agents they stand for.
    asking: BTreeMap<AgentId, BTreeSet<OfferId>>,
    roster: Roster,
    hints: HashMap<(i32, i16), Hint>,
    queues: HashMap<i32, Arc<Queue>>,
    /// The highest queue that was read from the store: those below it are known, but for late commits.
    mark: i32,
}

#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<State>);

/// A search with the news it will have seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hinted {
    pub(crate) search: Search,
    seen: u64,
}

impl Offers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns of queues.
    pub(crate) fn learn(&self, queues: impl IntoIterator<Item = Queue>) {
        let mut state = self.state();
        for queue in queues {
            state.queues.insert(queue.queue, Arc::new(queue));
        }
    }

    /// Learns of queues that were read from the store in the order of their numbers.
    pub(crate) fn learn_up_to(&self, queues: Vec<Queue>) {
        if let Some(last) = queues.last() {
            let mut state = self.state();
            state.mark = state.mark.max(last.queue);
        }
        self.learn(queues);
    }

    /// How far queues have been read from the store.
    pub(crate) fn mark(&self) -> i32 {
        self.state().mark
    }

    /// Opens an offer behind all that wait.
    pub(crate) fn open(
        &self,
        engine: Engine,
        registration: Arc<Registration>,
        max: u32,
    ) -> Waiting {
        let mut state = self.state();
        state.last += 1;
        let id = state.last;
        let answer = state.insert_once(id, registration, max);
        Waiting { id, answer, engine }
    }

    /// Opens an offer that stays until it is withdrawn. It takes nothing before it is widened.
    pub(crate) fn open_stream(
        &self,
        registration: Arc<Registration>,
    ) -> (OfferId, mpsc::UnboundedReceiver<Grants>) {
        let mut state = self.state();
        state.last += 1;
        let id = state.last;
        let (sender, grants) = mpsc::unbounded_channel();
        state.insert(id, registration, 0, Reply::Stream(sender));
        (id, grants)
    }

    /// Gives an offer room for `more`, unless that were more than `most` in all. Answers whether it did.
    pub(crate) fn widen(&self, id: OfferId, more: u32, most: u32) -> bool {
        let mut state = self.state();
        let Some(offer) = state.offers.get_mut(&id).filter(|offer| !offer.gone) else {
            return true;
        };
        let open = offer.free.saturating_add(offer.reserved);
        let fits = open.saturating_add(more) <= most;
        if fits {
            offer.free += more;
            let registration = offer.registration.clone();
            state.roster.note_asking(&registration);
        }
        fits
    }

    /// Opens an offer before all that wait, for the reply to a completion.
    pub(crate) fn open_first(
        &self,
        registration: Arc<Registration>,
        max: u32,
    ) -> (OfferId, oneshot::Receiver<Grants>) {
        let mut state = self.state();
        state.first -= 1;
        let id = state.first;
        (id, state.insert_once(id, registration, max))
    }

    /// Promises a slot for work of this queue: that of the agent that is to have it (design: hypha, section 6), and of its
    /// offers the one that has waited longest.
    pub(crate) fn take(&self, queue: i32, prefers: &[Capability]) -> Option<Slot> {
        let mut state = self.state();
        let queue = state.queues.get(&queue)?.clone();
        let (bids, offers) = state.bids(&queue, prefers);
        let agent = state.roster.assign(&queue.workspace, &bids)?;
        let at = bids.iter().position(|bid| bid.agent == agent)?;
        let offer = state.offers.get_mut(&offers[at])?;
        offer.free -= 1;
        offer.reserved += 1;
        Some(Slot {
            offer: offers[at],
            reg: offer.registration.reg,
            agent,
        })
    }

    /// Takes a promise back.
    pub(crate) fn give_back(&self, slot: &Slot) {
        let mut state = self.state();
        state.roster.unassign(slot.agent);
        if let Some(offer) = state.offers.get_mut(&slot.offer) {
            offer.free += 1;
            offer.reserved = offer.reserved.saturating_sub(1);
            if offer.gone && offer.reserved == 0 {
                state.remove(slot.offer);
            }
        }
    }

    /// Reads or changes what is known of agents.
    pub(crate) fn roster<T>(&self, with: impl FnOnce(&mut Roster) -> T) -> T {
        with(&mut self.state().roster)
    }

    /// Answers an offer. What reaches nobody goes back to the queue by itself.
    pub(crate) fn deliver(&self, id: OfferId, granted: Vec<Granted>, engine: &Engine) {
        let count = u32::try_from(granted.len()).unwrap_or(u32::MAX);
        let grants = Grants::new(granted, engine.clone());
        // A receiver that is gone drops the grants, and they go back; never under the lock.
        match self.state().answer(id, count) {
            Some(Reply::Once(reply)) => drop(reply.send(grants)),
            Some(Reply::Stream(reply)) => drop(reply.send(grants)),
            None => drop(grants),
        }
    }

    /// Withdraws an offer, unless a transaction has been promised a slot of it.
    pub(crate) fn withdraw(&self, id: OfferId) -> bool {
        let mut state = self.state();
        match state.offers.get_mut(&id) {
            Some(offer) if offer.reserved > 0 => {
                offer.gone = true;
                false
            }
            Some(_) => {
                state.remove(id);
                true
            }
            // Answered already: the answer lies in the channel.
            None => false,
        }
    }

    /// Work was left ready in these queues.
    pub(crate) fn note_news(&self, places: impl IntoIterator<Item = (i32, i16)>) {
        let mut state = self.state();
        for place in places {
            state.hints.entry(place).or_default().news += 1;
        }
    }

    /// Anything may have happened: look everywhere; now and then from the start, since a row may commit late below a
    /// cursor.
    pub(crate) fn note_doubt(&self, from_start: bool) {
        let mut state = self.state();
        let queues: Vec<i32> = state.queues.keys().copied().collect();
        for queue in queues {
            for prio in 0..=9 {
                let hint = state.hints.entry((queue, prio)).or_default();
                hint.news += 1;
                if from_start {
                    hint.cursor = 0;
                }
            }
        }
    }

    /// Whether an offer that waits here could take work of this queue.
    pub(crate) fn serves(&self, queue: i32) -> bool {
        let state = self.state();
        state.queues.get(&queue).is_some_and(|queue| {
            let mut waiting = state.offers.values();
            waiting.any(|offer| offer.is_open() && state.may_serve(&offer.registration, queue))
        })
    }

    /// Whether any offer waits.
    pub(crate) fn anybody_waits(&self) -> bool {
        self.state().offers.values().any(Offer::is_open)
    }

    /// Whether a look could find something for this registration.
    pub(crate) fn may_have_work(&self, registration: &Registration) -> bool {
        let state = self.state();
        state.hints.iter().any(|((queue, _), hint)| {
            hint.news > hint.clean
                && state
                    .queues
                    .get(queue)
                    .is_some_and(|queue| state.may_serve(registration, queue))
        })
    }

    /// Searches worth making for those who wait, at most `most` rows each.
    pub(crate) fn searches(&self, most: i64) -> Vec<Hinted> {
        let state = self.state();
        let mut searches = Vec::new();
        for ((queue, prio), hint) in &state.hints {
            let Some(known) = state.queues.get(queue).filter(|_| hint.news > hint.clean) else {
                continue;
            };
            let free: i64 = state
                .offers
                .values()
                .filter(|offer| offer.is_open() && state.may_serve(&offer.registration, known))
                .map(|offer| i64::from(offer.free))
                .sum();
            if free > 0 {
                searches.push(Hinted {
                    search: Search {
                        queue: *queue,
                        prio: *prio,
                        after_turn: hint.cursor,
                        limit: free.min(most),
                    },
                    seen: hint.news,
                });
            }
        }
        searches
    }

    /// What a committed search found: `last` is the last turn it leased, `short` that it found fewer than it asked for.
    /// Answers whether the same place deserves another look at once.
    pub(crate) fn note_search(&self, hinted: &Hinted, last: Option<i64>, short: bool) -> bool {
        let mut state = self.state();
        let place = (hinted.search.queue, hinted.search.prio);
        let hint = state.hints.entry(place).or_default();
        if !short {
            hint.cursor = last.unwrap_or(hint.cursor);
            return true;
        }
        if hinted.search.after_turn > 0 {
            // A short search behind a cursor proves nothing: something may lie below it.
            hint.cursor = 0;
            return true;
        }
        hint.clean = hint.clean.max(hinted.seen);
        hint.news > hint.clean
    }
}

impl State {
    /// Whether an agent of the registration can do the work of a queue, and may be given it now.
    fn may_serve(&self, registration: &Registration, queue: &Queue) -> bool {
        let able = registration.able(queue);
        able.iter().any(|agent| self.roster.may_work(*agent))
    }

    /// A bid of each agent that may have work of this queue, with the offer that its slot would be taken from.
    fn bids(&self, queue: &Queue, prefers: &[Capability]) -> (Vec<Bid>, Vec<OfferId>) {
        let mut bids = Vec::new();
        let mut offers = Vec::new();
        for (agent, asking) in &self.asking {
            let mut open = asking.iter().filter_map(|id| {
                let offer = self.offers.get(id).filter(|offer| offer.is_open())?;
                let is_able = offer.registration.able(queue).contains(agent);
                is_able.then_some((*id, &offer.registration))
            });
            let Some((id, registration)) = open.next() else {
                continue;
            };
            let preferred = registration.preferred(*agent, prefers);
            if let Some(bid) = self.roster.bid(*agent, preferred) {
                bids.push(bid);
                offers.push(id);
            }
        }
        (bids, offers)
    }

    fn insert_once(
        &mut self,
        id: OfferId,
        registration: Arc<Registration>,
        max: u32,
    ) -> oneshot::Receiver<Grants> {
        let (reply, answer) = oneshot::channel();
        self.insert(id, registration, max, Reply::Once(reply));
        answer
    }

    fn insert(&mut self, id: OfferId, registration: Arc<Registration>, free: u32, reply: Reply) {
        for agent in &registration.agents {
            self.asking.entry(agent.id).or_default().insert(id);
        }
        self.roster.note_asking(&registration);
        self.offers.insert(
            id,
            Offer {
                registration,
                free,
                reserved: 0,
                reply,
                gone: false,
            },
        );
    }

    /// Where `count` promised attempts of an offer are sent. A poll has had its answer with that.
    fn answer(&mut self, id: OfferId, count: u32) -> Option<Reply> {
        let offer = self.offers.get_mut(&id)?;
        let Reply::Stream(reply) = &offer.reply else {
            return self.remove(id).map(|offer| offer.reply);
        };
        let reply = Reply::Stream(reply.clone());
        offer.reserved = offer.reserved.saturating_sub(count);
        if offer.gone && offer.reserved == 0 {
            self.remove(id);
        }
        Some(reply)
    }

    fn remove(&mut self, id: OfferId) -> Option<Offer> {
        let offer = self.offers.remove(&id)?;
        for agent in &offer.registration.agents {
            if let Some(asking) = self.asking.get_mut(&agent.id) {
                asking.remove(&id);
                if asking.is_empty() {
                    self.asking.remove(&agent.id);
                }
            }
        }
        Some(offer)
    }
}

/// An offer whose owner waits. Dropping it withdraws it.
#[derive(Debug)]
pub(crate) struct Waiting {
    id: OfferId,
    answer: oneshot::Receiver<Grants>,
    engine: Engine,
}

impl Waiting {
    pub(crate) async fn wait(&mut self, wait: Duration) -> Grants {
        if let Ok(answer) = tokio::time::timeout(wait, &mut self.answer).await {
            return answer.unwrap_or_else(|_| Grants::none());
        }
        if self.engine.offers.withdraw(self.id) {
            return Grants::none();
        }
        // A transaction holds a promise: it answers when it ends.
        (&mut self.answer).await.unwrap_or_else(|_| Grants::none())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.engine.offers.withdraw(self.id);
    }
}
