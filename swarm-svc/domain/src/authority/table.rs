//! The table itself: a row allows a kind of principal some verbs, if it stands to the thing as the row says.
//! Has no row that refuses: what is not here is refused.

use super::{Action, Kind, Permit, Relation};

/// One permission.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) actions: &'static [Action],
    pub(super) relation: Relation,
    pub(super) permit: Permit,
}

const fn row(kind: Kind, relation: Relation, actions: &'static [Action]) -> Row {
    Row {
        kind,
        actions,
        relation,
        permit: Permit::Full,
    }
}

const READ: &[Action] = &[Action::Read, Action::Watch];
const HEALTH: &[Action] = &[Action::Health];

pub(super) const ROWS: &[Row] = &[
    // Health, without detail, is everybody's.
    row(Kind::Operator, Relation::Any, HEALTH),
    row(Kind::Mind, Relation::Any, HEALTH),
    row(Kind::Agent, Relation::Any, HEALTH),
    row(Kind::Worker, Relation::Any, HEALTH),
    row(Kind::Service, Relation::Any, HEALTH),
    row(Kind::Scheduler, Relation::Any, HEALTH),
    row(Kind::Meter, Relation::Any, HEALTH),
    row(Kind::Viewer, Relation::Any, HEALTH),
    row(Kind::Anonymous, Relation::Any, HEALTH),
    // Reading. No service reads swarm.
    row(Kind::Operator, Relation::Any, READ),
    row(Kind::Mind, Relation::Any, READ),
    row(Kind::Agent, Relation::Any, READ),
    row(Kind::Worker, Relation::Any, READ),
    row(Kind::Scheduler, Relation::Any, READ),
    row(Kind::Meter, Relation::Any, READ),
    Row {
        kind: Kind::Viewer,
        actions: READ,
        relation: Relation::Any,
        permit: Permit::Redacted,
    },
    // The operator: wallet, dial, shares, brakes, birth and retirement. No persona, no timeline, no charge.
    row(
        Kind::Operator,
        Relation::Any,
        &[
            Action::ReadAudit,
            Action::SetShare,
            Action::SetHaste,
            Action::SetDial,
            Action::SetWallet,
            Action::HoldBrake,
            Action::ReleaseBrake,
            Action::OpenMind,
            Action::RetireMind,
            Action::ImportPersona,
            Action::OperateMind,
            Action::ResetTimeline,
            Action::ProposeMind,
            Action::RuleAsOperator,
            Action::RuleCrossMind,
            Action::MoveLead,
            Action::SupersedeRuling,
            Action::OpenQuestion,
            Action::TakeStewardship,
            Action::SubmitWork,
            Action::WithdrawWork,
            Action::AssignWork,
        ],
    ),
    // A mind: for itself.
    row(
        Kind::Mind,
        Relation::Own,
        &[
            Action::LendShare,
            Action::Rest,
            Action::RequestRetirement,
            Action::SetAgenda,
            Action::AppendRecord,
            Action::RuleAsMind,
            Action::SupersedeRuling,
            Action::HandOff,
            Action::AnswerHandOff,
            Action::WithdrawWork,
            Action::ReturnWork,
            Action::CompleteWork,
        ],
    ),
    row(Kind::Mind, Relation::OwnByPersona, &[Action::PutPersona]),
    row(
        Kind::Mind,
        Relation::Any,
        &[Action::ProposeMind, Action::Cite, Action::SubmitWork],
    ),
    // The two things in which the lead differs from any mind: unaddressed work, and questions between minds.
    row(Kind::Mind, Relation::Lead, &[Action::RouteWork]),
    row(Kind::Mind, Relation::LeadsOwn, &[Action::OpenQuestion]),
    // Agents and workers.
    row(Kind::Agent, Relation::Any, &[Action::SubmitWork]),
    row(Kind::Agent, Relation::Submitted, &[Action::WithdrawWork]),
    row(Kind::Worker, Relation::Carries, &[Action::HoldTurn]),
    // Services.
    row(
        Kind::Scheduler,
        Relation::Any,
        &[Action::Launch, Action::UpdateTimeline],
    ),
    row(Kind::Meter, Relation::Any, &[Action::RecordCharge]),
    row(Kind::Service, Relation::Is("hypha"), &[Action::Deliver]),
    row(Kind::Service, Relation::IsNoGateway, &[Action::SubmitWork]),
];
