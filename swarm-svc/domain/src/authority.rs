//! Who may do what in swarm: a principal, a verb and a relation to the thing make a yes or a no with its reason.
//! Says no unless a row of the table says yes, and looks at no state: whether it can be done is the rules' business
//! (design: security, section 5; swarm, section 3).

mod action;
#[cfg(test)]
mod cases;
mod table;
#[cfg(test)]
mod tests;

use cambium_kernel::ErrorKind;

pub use action::Action;

use crate::{Error, Instance};

/// The half of a mind that acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Organ {
    Persona,
    Own,
}

impl Organ {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::Own => "self",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Persona, Self::Own]
            .into_iter()
            .find(|organ| organ.as_str() == text)
    }
}

/// Who asks, as its credential says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    Operator(String),
    Mind(Instance, Organ),
    Agent(String),
    Worker(String),
    Service(String),
    Scheduler,
    Meter,
    Viewer(String),
    Anonymous,
}

/// A principal's kind, which is all that the table looks at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Operator,
    Mind,
    Agent,
    Worker,
    Service,
    Scheduler,
    Meter,
    Viewer,
    Anonymous,
}

impl Principal {
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Operator(_) => Kind::Operator,
            Self::Mind(..) => Kind::Mind,
            Self::Agent(_) => Kind::Agent,
            Self::Worker(_) => Kind::Worker,
            Self::Service(_) => Kind::Service,
            Self::Scheduler => Kind::Scheduler,
            Self::Meter => Kind::Meter,
            Self::Viewer(_) => Kind::Viewer,
            Self::Anonymous => Kind::Anonymous,
        }
    }
}

/// What a decision rests on, read in the transaction of the write. What nobody filled in matches no row.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The mind whose share, persona, record, ruling, work or stewardship it is; who gives a hand-off, or is offered it.
    pub mind: Option<Instance>,
    /// The agent that submitted the work.
    pub agent: Option<String>,
    /// The body that the turn's target names, or the worker to whom a lease of its run was issued.
    pub body: Option<String>,
    /// Whether the standing ruling names the caller as lead.
    pub is_lead: bool,
    pub is_quarantined: bool,
    pub is_other_workspace: bool,
    /// How old an operator's login is; none was shown where it is missing.
    pub login_age_s: Option<u64>,
}

/// What a permit brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Full,
    /// Payloads are left out.
    Redacted,
}

/// Why somebody may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("the call shows no identity")]
    Anonymous,
    #[error("the login is over 5 minutes old: log in again")]
    StepUp,
    #[error("there is no such thing here")]
    OtherWorkspace,
    #[error("the agent is in quarantine")]
    Quarantined,
    #[error("no rule allows it")]
    NoRule,
    #[error("the document is another mind's to write")]
    ForeignHolder,
    #[error("the authority is above the caller's")]
    AuthorityAbove,
    #[error("a question between minds is the operator's to answer")]
    BetweenMinds,
    #[error("only who holds it can give it")]
    NotTheGiver,
}

impl Denial {
    pub(crate) const fn kind(self) -> ErrorKind {
        match self {
            Self::Anonymous | Self::StepUp => ErrorKind::Unauthenticated,
            Self::OtherWorkspace => ErrorKind::NotFound,
            Self::Quarantined
            | Self::NoRule
            | Self::ForeignHolder
            | Self::AuthorityAbove
            | Self::BetweenMinds
            | Self::NotTheGiver => ErrorKind::Denied,
        }
    }

    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Anonymous => "ANONYMOUS",
            Self::StepUp => "STEP_UP",
            Self::OtherWorkspace => "NOT_HERE",
            Self::Quarantined => "QUARANTINED",
            Self::NoRule => "NO_RULE",
            Self::ForeignHolder => "FOREIGN_HOLDER",
            Self::AuthorityAbove => "AUTHORITY_ABOVE",
            Self::BetweenMinds => "BETWEEN_MINDS",
            Self::NotTheGiver => "NOT_THE_GIVER",
        }
    }
}

/// The oldest login, in seconds, that may do what cannot easily be undone.
const FRESH_LOGIN_S: u64 = 300;

/// Decides. The walls come first, in the order in which they are answered; then one row of the table is enough.
pub fn decide(principal: &Principal, action: Action, facts: &Facts) -> Result<Permit, Error> {
    wall(principal, action, facts).map_or(Ok(()), |denial| Err(Error::Denied(denial)))?;
    let kind = principal.kind();
    let rows = table::ROWS
        .iter()
        .filter(|row| row.kind == kind && row.actions.contains(&action));
    for row in rows {
        if stands(row.relation, principal, facts) {
            return Ok(row.permit);
        }
    }
    Err(Error::Denied(Denial::NoRule))
}

/// What beats every permit.
fn wall(principal: &Principal, action: Action, facts: &Facts) -> Option<Denial> {
    let kind = principal.kind();
    let is_fresh = facts.login_age_s.is_some_and(|age| age <= FRESH_LOGIN_S);
    let is_read = matches!(action, Action::Read | Action::Watch | Action::Health);
    if action == Action::Health {
        None
    } else if kind == Kind::Anonymous {
        Some(Denial::Anonymous)
    } else if kind == Kind::Operator && action.needs_fresh_login() && !is_fresh {
        Some(Denial::StepUp)
    } else if facts.is_other_workspace {
        Some(Denial::OtherWorkspace)
    } else if kind == Kind::Agent && facts.is_quarantined && !is_read {
        Some(Denial::Quarantined)
    } else {
        None
    }
}

/// How a principal must stand to the thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// In any way.
    Any,
    /// It is the mind's own.
    Own,
    /// It is the mind's own, and its persona organ asks.
    OwnByPersona,
    /// The mind is the lead.
    Lead,
    /// The mind is the lead, and it is its own.
    LeadsOwn,
    /// The agent submitted it.
    Submitted,
    /// The turn is carried by the worker.
    Carries,
    /// It is this service.
    Is(&'static str),
    /// It is any service but the gateway, which has no power of its own.
    IsNoGateway,
}

fn stands(relation: Relation, principal: &Principal, facts: &Facts) -> bool {
    match (relation, principal) {
        (Relation::Any, _) => true,
        (Relation::Own, Principal::Mind(mind, _))
        | (Relation::OwnByPersona, Principal::Mind(mind, Organ::Persona)) => {
            facts.mind.as_ref() == Some(mind)
        }
        (Relation::Lead, Principal::Mind(..)) => facts.is_lead,
        (Relation::LeadsOwn, Principal::Mind(mind, _)) => {
            facts.is_lead && facts.mind.as_ref() == Some(mind)
        }
        (Relation::Submitted, Principal::Agent(name)) => facts.agent.as_ref() == Some(name),
        (Relation::Carries, Principal::Worker(name)) => facts.body.as_ref() == Some(name),
        (Relation::Is(one), Principal::Service(name)) => name == one,
        (Relation::IsNoGateway, Principal::Service(name)) => name != "gateway",
        _ => false,
    }
}
