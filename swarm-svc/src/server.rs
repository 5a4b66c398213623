//! Puts swarm together: database, use cases, loops, port. Whatever the outside supplies enters as an argument.

use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::swarm::v1::control_service_server::ControlServiceServer;
use cambium_proto::swarm::v1::loan_service_server::LoanServiceServer;
use cambium_proto::swarm::v1::mind_service_server::MindServiceServer;
use cambium_proto::swarm::v1::persona_service_server::PersonaServiceServer;
use cambium_proto::swarm::v1::record_service_server::RecordServiceServer;
use cambium_proto::swarm::v1::routing_service_server::RoutingServiceServer;
use cambium_proto::swarm::v1::timeline_service_server::TimelineServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::database::PoolOptions;
use cambium_service_kit::inbox::SignalRpc;
use cambium_service_kit::peer::Peer;
use cambium_service_kit::principal::Kind;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::watchers::Watchers;
use cambium_service_kit::{database, readiness};
use tokio::sync::watch::Sender;

use crate::app::App;
use crate::config::Config;
use crate::loops;
use crate::peers::Hypha;
use crate::receptors::Receptors;
use crate::rpc::{ControlRpc, LoanRpc, MindRpc, PersonaRpc, RecordRpc, RoutingRpc, TimelineRpc};
use crate::store::SCHEMA;

pub(crate) const NAME: &str = "swarm";

const READERS: &[Kind] = &[
    Kind::Operator,
    Kind::Mind,
    Kind::Agent,
    Kind::Worker,
    Kind::Scheduler,
    Kind::Meter,
    Kind::Viewer,
];
const OPERATORS: &[Kind] = &[Kind::Operator];
const MINDS: &[Kind] = &[Kind::Mind];
const PROPOSERS: &[Kind] = &[Kind::Operator, Kind::Mind];
const BODIES: &[Kind] = &[Kind::Worker];
const MINTERS: &[Kind] = &[Kind::Worker, Kind::Operator];
const SCHEDULERS: &[Kind] = &[Kind::Scheduler];
const METERS: &[Kind] = &[Kind::Meter];
const SUBMITTERS: &[Kind] = &[Kind::Operator, Kind::Mind, Kind::Agent, Kind::Service];
const WITHDRAWERS: &[Kind] = &[Kind::Operator, Kind::Mind, Kind::Agent];

const fn rule(method: &'static str, kinds: &'static [Kind]) -> Rule {
    Rule { method, kinds }
}

/// Who may knock at which door, by kind alone. Who may do what is the domain's table, asked by each use case.
const PERMISSIONS: &[Rule] = &[
    rule("/cambium.swarm.v1.MindService/ProposeMind", PROPOSERS),
    rule("/cambium.swarm.v1.MindService/OpenMind", OPERATORS),
    rule("/cambium.swarm.v1.MindService/DeclineMind", OPERATORS),
    rule("/cambium.swarm.v1.MindService/SetTarget", OPERATORS),
    rule("/cambium.swarm.v1.MindService/GetMind", READERS),
    rule("/cambium.swarm.v1.MindService/ListMinds", READERS),
    rule("/cambium.swarm.v1.MindService/WatchMinds", READERS),
    rule("/cambium.swarm.v1.MindService/SetAgenda", MINDS),
    rule("/cambium.swarm.v1.MindService/Rest", MINDS),
    rule("/cambium.swarm.v1.MindService/EndRest", MINDS),
    rule("/cambium.swarm.v1.MindService/RequestRetirement", MINDS),
    rule("/cambium.swarm.v1.MindService/WithdrawRequest", MINDS),
    rule("/cambium.swarm.v1.MindService/RetireMind", OPERATORS),
    rule("/cambium.swarm.v1.MindService/ExportMind", OPERATORS),
    rule("/cambium.swarm.v1.MindService/ReceiveMind", OPERATORS),
    rule("/cambium.swarm.v1.MindService/CompleteTransfer", OPERATORS),
    rule("/cambium.swarm.v1.PersonaService/GetPersona", READERS),
    rule(
        "/cambium.swarm.v1.PersonaService/ListPersonaVersions",
        READERS,
    ),
    rule("/cambium.swarm.v1.PersonaService/DiffIdentity", READERS),
    rule("/cambium.swarm.v1.PersonaService/PutPersona", MINDS),
    rule("/cambium.swarm.v1.PersonaService/ImportPersona", OPERATORS),
    rule("/cambium.swarm.v1.PersonaService/PreviewImport", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/GetControl", READERS),
    rule("/cambium.swarm.v1.ControlService/SetShare", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/SetHaste", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/RemoveShare", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/SetDial", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/SetWallet", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/HoldBrake", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/ReleaseBrake", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/OperateMind", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/ExtendSession", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/CloseSession", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/ResetTimeline", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/ListAudit", OPERATORS),
    rule("/cambium.swarm.v1.ControlService/WatchAudit", OPERATORS),
    rule("/cambium.swarm.v1.LoanService/LendShare", MINDS),
    rule("/cambium.swarm.v1.LoanService/ReturnLoan", MINDS),
    rule("/cambium.swarm.v1.LoanService/EndLoan", OPERATORS),
    rule("/cambium.swarm.v1.LoanService/ListLoans", READERS),
    rule("/cambium.swarm.v1.TimelineService/GetTimeline", READERS),
    rule("/cambium.swarm.v1.TimelineService/WatchTimeline", READERS),
    rule("/cambium.swarm.v1.TimelineService/Tick", SCHEDULERS),
    rule("/cambium.swarm.v1.TimelineService/WatchGrants", BODIES),
    rule("/cambium.swarm.v1.TimelineService/AckGrant", BODIES),
    rule("/cambium.swarm.v1.TimelineService/Heartbeat", BODIES),
    rule("/cambium.swarm.v1.TimelineService/MintMindToken", MINTERS),
    rule("/cambium.swarm.v1.TimelineService/RecordCharge", METERS),
    rule("/cambium.swarm.v1.TimelineService/GetTurn", READERS),
    rule("/cambium.swarm.v1.TimelineService/ListTurns", READERS),
    rule("/cambium.swarm.v1.TimelineService/ExplainMind", READERS),
    rule("/cambium.swarm.v1.TimelineService/PreviewTurns", READERS),
    rule("/cambium.swarm.v1.TimelineService/ForecastWallet", READERS),
    rule("/cambium.swarm.v1.RecordService/AppendRecord", MINDS),
    rule("/cambium.swarm.v1.RecordService/RuleAsOperator", OPERATORS),
    rule("/cambium.swarm.v1.RecordService/OpenQuestion", OPERATORS),
    rule("/cambium.swarm.v1.RecordService/GetDocument", READERS),
    rule("/cambium.swarm.v1.RecordService/ListDocuments", READERS),
    rule("/cambium.swarm.v1.RecordService/VerifyCitations", READERS),
    rule("/cambium.swarm.v1.RecordService/ListReviews", READERS),
    rule("/cambium.swarm.v1.RoutingService/SubmitWork", SUBMITTERS),
    rule("/cambium.swarm.v1.RoutingService/WithdrawWork", WITHDRAWERS),
    rule("/cambium.swarm.v1.RoutingService/AssignWork", OPERATORS),
    rule(
        "/cambium.swarm.v1.RoutingService/TakeStewardship",
        OPERATORS,
    ),
    rule("/cambium.swarm.v1.RoutingService/MoveLead", OPERATORS),
    rule("/cambium.swarm.v1.RoutingService/OfferHandOff", MINDS),
    rule("/cambium.swarm.v1.RoutingService/RouteWork", MINDS),
    rule("/cambium.swarm.v1.RoutingService/AnswerHandOff", MINDS),
    rule("/cambium.swarm.v1.RoutingService/ReturnWork", MINDS),
    rule("/cambium.swarm.v1.RoutingService/CompleteWork", MINDS),
    rule("/cambium.swarm.v1.RoutingService/GetLead", READERS),
    rule("/cambium.swarm.v1.RoutingService/ListWork", READERS),
    rule("/cambium.signal.v1.SignalService/Deliver", &[Kind::Service]),
];

/// Room for 64 documents, or for a remnant of 1 MiB.
const REQUEST_BYTES: usize = 2 * 1024 * 1024;

/// Puts the service together and starts its loops, which end with `stop`.
pub async fn build(config: Config, stop: Stop) -> anyhow::Result<Service> {
    let options = PoolOptions {
        max: config.connections,
        service: NAME,
    };
    let pool = database::connect(&config.database_url, options)?;
    let clock = Arc::new(SystemClock);
    let hypha = config
        .hypha
        .map(|address| Peer::new("hypha", &address, config.credentials).map(Hypha::new))
        .transpose()?;
    let app = Arc::new(App {
        pool: pool.clone(),
        key: config.key,
        clock: clock.clone(),
        hypha,
        news: Sender::new(()),
        watchers: Watchers::default(),
        stop: stop.clone(),
    });
    tokio::spawn(loops::listen::run(app.clone()));
    if let Some(pulse) = config.pulse {
        tokio::spawn(loops::tick::run(app.clone(), pulse));
        tokio::spawn(loops::dispatch::run(app.clone(), pulse));
        tokio::spawn(loops::forget::run(pool.clone(), stop.clone()));
        tokio::spawn(loops::offers::run(app.clone(), pulse));
    }
    let ready = readiness::watch(pool.clone(), stop);
    let auth = Auth::new(Verifier::new(config.bundle, NAME, clock), NAME, PERMISSIONS);
    let service = Service::new(NAME, auth, ready, move |routes| {
        let control = ControlServiceServer::new(ControlRpc::new(app.clone()));
        routes.add_service(control.max_decoding_message_size(REQUEST_BYTES));
        let loan = LoanServiceServer::new(LoanRpc::new(app.clone()));
        routes.add_service(loan.max_decoding_message_size(REQUEST_BYTES));
        let minds = MindServiceServer::new(MindRpc::new(app.clone()));
        routes.add_service(minds.max_decoding_message_size(REQUEST_BYTES));
        let personas = PersonaServiceServer::new(PersonaRpc::new(app.clone()));
        routes.add_service(personas.max_decoding_message_size(REQUEST_BYTES));
        let timeline = TimelineServiceServer::new(TimelineRpc::new(app.clone()));
        routes.add_service(timeline.max_decoding_message_size(REQUEST_BYTES));
        let record = RecordServiceServer::new(RecordRpc::new(app.clone()));
        routes.add_service(record.max_decoding_message_size(REQUEST_BYTES));
        routes.add_service(RoutingServiceServer::new(RoutingRpc::new(app.clone())));
    });
    Ok(service.hearing(move |routes| {
        let signals = SignalRpc::new(pool.clone(), SCHEMA, Receptors);
        routes.add_service(signals.into_service());
    }))
}
