//! The verbs of swarm that the table knows (design: security, section 5). An RPC without one is refused.

macro_rules! actions {
    ($($name:ident),* $(,)?) => {
        /// Something that a principal would do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($name),*
        }

        impl Action {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name)),*
                }
            }
        }
    };
}

actions!(
    Read,
    Watch,
    Health,
    ReadAudit,
    Deliver,
    SetShare,
    SetHaste,
    SetDial,
    SetWallet,
    LendShare,
    HoldBrake,
    ReleaseBrake,
    Rest,
    RequestRetirement,
    OpenMind,
    RetireMind,
    ImportPersona,
    OperateMind,
    ResetTimeline,
    ProposeMind,
    PutPersona,
    AppendRecord,
    RuleAsMind,
    RuleAsOperator,
    RuleCrossMind,
    MoveLead,
    SupersedeRuling,
    OpenQuestion,
    Cite,
    HandOff,
    AnswerHandOff,
    TakeStewardship,
    SetAgenda,
    SubmitWork,
    WithdrawWork,
    RouteWork,
    AssignWork,
    ReturnWork,
    CompleteWork,
    HoldTurn,
    Launch,
    UpdateTimeline,
    RecordCharge,
);

impl Action {
    /// None for what is no verb of swarm: it is refused.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.as_str() == text)
    }

    /// Whether an operator's login must be at most 5 minutes old. Stopping is always easy: holding a brake never needs it.
    #[must_use]
    pub const fn needs_fresh_login(self) -> bool {
        matches!(
            self,
            Self::OpenMind
                | Self::RetireMind
                | Self::ImportPersona
                | Self::MoveLead
                | Self::SetDial
                | Self::SetWallet
                | Self::ReleaseBrake
                | Self::ResetTimeline
        )
    }
}
