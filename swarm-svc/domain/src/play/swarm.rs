use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::Usd;
use chrono::{DateTime, TimeDelta, Utc};

use crate::bucket::Bucket;
use crate::charge::{Charge, Finding, Outcome, Settlement, Source, settle};
use crate::dial::Dial;
use crate::launch::Launch;
use crate::loan::{self, Loan, Offer, Parties};
use crate::member::{Agenda, Brake, Standing, Wakes};
use crate::mind;
use crate::pick::{self, Candidate, Choice};
use crate::session::Session;
use crate::share::{EffectiveShare, Haste, Share, haste};
use crate::tick::Round;
use crate::timeline::{Step, Timeline};
use crate::turn::{Body, Fate, Proof, State, Terms, Turn};
use crate::wallet::{Limit, Spending, Wallet};
use crate::{Error, Instance, LoanId, SessionId, TurnId, Why};

#[derive(Clone, Debug)]
pub(super) struct Mind {
    pub(super) share: Option<Share>,
    pub(super) haste: Option<Haste>,
    pub(super) brake: Brake,
    pub(super) held_at: Option<DateTime<Utc>>,
    pub(super) body: Body,
    pub(super) agenda: Agenda,
    pub(super) launch: Launch,
    /// `last_run_at` before the newest launch, in case its graph is refused.
    ran_before: Option<DateTime<Utc>>,
}

/// What a launch leaves for whoever checks it.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    /// Every runnable mind, in order.
    pub(super) runnable: Vec<Candidate>,
    pub(super) choice: Choice,
    /// How many steps of the log came before.
    pub(super) log: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Swarm {
    pub(super) now: DateTime<Utc>,
    pub(super) dial: Option<Dial>,
    pub(super) wallet: Option<Wallet>,
    pub(super) bucket: Bucket,
    pub(super) timeline: Timeline,
    pub(super) minds: BTreeMap<Instance, Mind>,
    pub(super) loans: Vec<Loan>,
    pub(super) sessions: Vec<Session>,
    /// By launch.
    pub(super) turns: Vec<Turn>,
    pub(super) charges: BTreeMap<TurnId, (Charge, DateTime<Utc>)>,
    pub(super) log: Vec<Step>,
    pub(super) grants: Vec<Grant>,
}

pub(super) fn named(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

impl Swarm {
    pub(super) fn new(now: DateTime<Utc>) -> Self {
        Self {
            now,
            dial: None,
            wallet: None,
            bucket: Bucket::empty(now),
            timeline: Timeline::default(),
            minds: BTreeMap::new(),
            loans: Vec::new(),
            sessions: Vec::new(),
            turns: Vec::new(),
            charges: BTreeMap::new(),
            log: Vec::new(),
            grants: Vec::new(),
        }
    }

    pub(super) fn open(&mut self, name: &Instance, wakes: Wakes, body: Body) {
        self.timeline.open(name.clone());
        let before = self.now - TimeDelta::microseconds(1);
        let has_run = (wakes == Wakes::Work).then_some(before);
        let mind = Mind {
            share: None,
            haste: None,
            brake: Brake::Held,
            held_at: Some(self.now),
            body,
            agenda: Agenda {
                wakes,
                ..Agenda::default()
            },
            launch: Launch {
                last_run_at: has_run,
                ..Launch::default()
            },
            ran_before: has_run,
        };
        self.minds.insert(name.clone(), mind);
    }

    pub(super) fn mind(&mut self, name: &Instance) -> &mut Mind {
        self.minds.get_mut(name).unwrap()
    }

    pub(super) fn live(&self) -> Vec<&Turn> {
        self.turns
            .iter()
            .filter(|turn| turn.state.is_live())
            .collect()
    }

    pub(super) fn newest(&self, of: &Instance) -> Option<usize> {
        self.turns.iter().rposition(|turn| turn.instance == *of)
    }

    pub(super) fn standing(&self, of: &Instance) -> Standing {
        let mind = &self.minds[of];
        let session = self
            .sessions
            .iter()
            .rev()
            .find(|one| one.instance == *of && one.is_open(self.now));
        Standing {
            state: mind::State::Open,
            brake: mind.brake,
            share: mind.share,
            session_until: session.map(|session| session.until),
            agenda: mind.agenda,
            launch: mind.launch,
            reviews: Vec::new(),
            has_unreadable_persona: false,
            is_live: self.live().iter().any(|turn| turn.instance == *of),
        }
    }

    pub(super) fn members(&self) -> BTreeSet<Instance> {
        let minds = self.minds.keys();
        minds
            .filter(|mind| self.standing(mind).is_member(self.now))
            .cloned()
            .collect()
    }

    pub(super) fn effective(&self, of: &Instance) -> Option<EffectiveShare> {
        let own = self.minds[of].share?;
        Some(loan::effective(own, &self.loans, of, self.now))
    }

    pub(super) fn reserved(&self) -> Usd {
        Usd::from_micros(self.live().iter().map(|turn| turn.cap.as_micros()).sum())
    }

    pub(super) fn spending(&self) -> Spending {
        let Some(wallet) = self.wallet else {
            return Spending::default();
        };
        let current = wallet.period.first_day(self.now);
        let turns = || {
            self.turns
                .iter()
                .filter(|turn| wallet.period.first_day(turn.launched_at) == current)
        };
        let costs = turns().filter_map(|turn| self.charges.get(&turn.id));
        let held = turns().filter(|turn| turn.state.is_live());
        Spending {
            spent: Usd::from_micros(costs.map(|(charge, _)| charge.cost.as_micros()).sum()),
            held: Usd::from_micros(held.map(|turn| turn.cap.as_micros()).sum()),
        }
    }

    pub(super) fn sync(&mut self) {
        if let Some(dial) = &self.dial {
            self.bucket = self.bucket.refilled(dial, self.now);
        }
        let members = self.members();
        self.log.extend(self.timeline.sync(&members));
    }

    pub(super) fn round(&self) -> Round {
        let preempting = self
            .sessions
            .iter()
            .filter(|one| one.is_preempting && one.is_open(self.now));
        Round {
            now: self.now,
            dial: self.dial,
            bucket: self.bucket,
            reserved: self.reserved(),
            limit: self
                .wallet
                .map_or(Limit::Open, |wallet| Limit::Of(wallet, self.spending())),
            taken: self.live().iter().map(|turn| turn.slot).collect(),
            preempted_until: preempting.map(|session| session.until).max(),
        }
    }

    pub(super) fn tick(
        &mut self,
        evidence: &BTreeMap<Instance, Proof>,
        flips: &[Instance],
    ) -> Result<Turn, Why> {
        self.reconcile(evidence);
        if self.dial.is_none() {
            return Err(Why::Dial);
        }
        self.sync();
        let round = self.round();
        let dial = round.gate()?;
        let runnable = self.runnable();
        let order = pick::order(runnable.clone());
        let choice = pick::choose(&order, |candidate| {
            flips.contains(&candidate.instance).then_some(Why::Brake)
        });
        for mind in flips {
            self.hold(mind);
        }
        let winner = choice.winner.clone().ok_or(Why::Nobody)?;
        self.grants.push(Grant {
            runnable,
            choice,
            log: self.log.len(),
        });
        Ok(self.launch(winner, &dial, round.slot()))
    }

    fn runnable(&self) -> Vec<Candidate> {
        let minds = self.minds.keys();
        let runnable = minds.filter(|mind| self.standing(mind).is_runnable(self.now));
        runnable
            .map(|mind| Candidate {
                instance: mind.clone(),
                vtime: self.timeline.vtime(mind),
                share: self.effective(mind).unwrap(),
            })
            .collect()
    }

    fn launch(&mut self, winner: Candidate, dial: &Dial, slot: u32) -> Turn {
        let now = self.now;
        let mind = self.mind(&winner.instance);
        mind.ran_before = mind.launch.last_run_at;
        mind.launch = mind.launch.launched(now);
        let terms = Terms {
            id: TurnId::generate(),
            epoch: mind.launch.epoch,
            slot,
            body: mind.body,
            haste: haste(mind.haste.as_ref(), now),
        };
        let mut turn = Turn::granted(winner, terms, dial, now);
        if turn.body == Body::Graph {
            turn.state = State::Running;
            mind.launch = mind.launch.ran(now);
        }
        self.turns.push(turn.clone());
        turn
    }

    fn reconcile(&mut self, evidence: &BTreeMap<Instance, Proof>) {
        for index in 0..self.turns.len() {
            let turn = &self.turns[index];
            if !turn.state.is_live() {
                continue;
            }
            let proof = evidence
                .get(&turn.instance)
                .copied()
                .unwrap_or(Proof::Silence);
            let held_at = self.minds[&turn.instance].held_at;
            match turn.reconciled(proof, held_at, self.now) {
                Fate::Stays { alive_until } => self.turns[index].alive_until = alive_until,
                Fate::Withdraw => self.withdraw(index),
                Fate::Settle { cost, outcome } => {
                    let finding = Finding {
                        cost_micro_usd: cost.map(Usd::as_micros),
                        declared_micro_usd: None,
                        source: Source::Sweep,
                        outcome,
                    };
                    self.settle(Some(index), finding).unwrap();
                }
            }
        }
    }

    pub(super) fn withdraw(&mut self, index: usize) {
        self.turns[index].state = State::Withdrawn;
        let (now, instance) = (self.now, self.turns[index].instance.clone());
        let mind = self.mind(&instance);
        mind.launch = mind.launch.withdrawn(now);
        mind.launch.last_run_at = mind.ran_before;
    }

    pub(super) fn settle(
        &mut self,
        index: Option<usize>,
        finding: Finding,
    ) -> Result<Settlement, Error> {
        let turn = index.map(|index| self.turns[index].clone());
        let charged = turn.as_ref().and_then(|turn| self.charges.get(&turn.id));
        let settlement = settle(turn.as_ref(), charged.map(|(charge, _)| *charge), finding)?;
        if let (Settlement::New(charge), Some(index), Some(turn)) = (settlement, index, turn) {
            self.sync();
            self.bucket = self.bucket.charged(charge.cost);
            self.charges.insert(turn.id, (charge, self.now));
            if charge.outcome != Outcome::LateStart {
                self.turns[index].state = State::Settled;
                let mind = self.mind(&turn.instance);
                mind.launch = mind.launch.ran(turn.launched_at).settled();
            }
            let step = self.timeline.charge(&turn.instance, charge.vdelta);
            self.log.push(step);
        }
        Ok(settlement)
    }

    pub(super) fn hold(&mut self, name: &Instance) {
        let now = self.now;
        let mind = self.mind(name);
        if mind.brake == Brake::Released {
            mind.brake = Brake::Held;
            mind.held_at = Some(now);
        }
    }

    pub(super) fn release(&mut self, name: &Instance) {
        let mind = self.mind(name);
        mind.brake = Brake::Released;
        mind.held_at = None;
        mind.agenda.rest_until = None;
    }

    pub(super) fn set_share(
        &mut self,
        name: &Instance,
        share: Option<Share>,
        haste: Option<Haste>,
    ) {
        for id in loan::give_way(name, share, &self.loans, self.now) {
            let loan = self.loans.iter_mut().find(|loan| loan.id == id).unwrap();
            loan.ended_at = Some(self.now);
        }
        let mind = self.mind(name);
        mind.share = share;
        mind.haste = haste;
    }

    pub(super) fn lend(&mut self, offer: Offer) -> Result<(), Error> {
        let share = |of: &Instance| self.minds.get(of).and_then(|mind| mind.share);
        let parties = Parties {
            lender: share(&offer.lender),
            borrower: share(&offer.borrower),
        };
        let lent = loan::lend(LoanId::generate(), offer, parties, &self.loans, self.now)?;
        self.loans.push(lent);
        Ok(())
    }

    pub(super) fn operate(&mut self, name: &Instance, is_preempting: bool, ttl_s: i64) {
        let mind = (name, mind::State::Open);
        let session = Session::open(
            SessionId::generate(),
            mind,
            is_preempting,
            Some(ttl_s),
            self.now,
        );
        self.sessions.push(session.unwrap());
    }
}
