//! A WorkerService that hands out prepared attempts, can be told to misbehave, and writes down what it heard.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cambium_client::worker::{Ended, Error, Options, Runtime, Work};
use cambium_client::{Connection, StaticToken};
use cambium_proto::hypha::v1::worker_service_server::{WorkerService, WorkerServiceServer};
use cambium_proto::hypha::v1::*;
use cambium_proto::stigmergy::v1::marker_service_server::{MarkerService, MarkerServiceServer};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// Short, so that tests see many heartbeats.
pub(crate) const LEASE_MS: u32 = 300;

#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) ready: VecDeque<Attempt>,
    /// Answers to the next calls of a method, before it behaves.
    pub(crate) refusals: Vec<(&'static str, Status)>,
    pub(crate) answers: LeaseState,
    pub(crate) renewed_token: String,
    /// Method, and task or token.
    pub(crate) heard: Vec<(&'static str, String)>,
    pub(crate) most_offered: u32,
    /// Answers to Complete wait for this, with what they bring already taken.
    pub(crate) answer_when: Option<Arc<Semaphore>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Service {
    script: Arc<Mutex<Script>>,
    news: Arc<Notify>,
}

impl Service {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(crate) fn add(&self, nodes: &[&str]) {
        let attempts = nodes.iter().map(|node| attempt(node));
        self.script().ready.extend(attempts);
        self.news.notify_waiters();
    }

    pub(crate) fn refuse(&self, method: &'static str, status: Status) {
        self.script().refusals.push((method, status));
    }

    /// What was heard of a method, in order.
    pub(crate) fn heard(&self, method: &str) -> Vec<String> {
        let script = self.script();
        let heard = script.heard.iter().filter(|(name, _)| *name == method);
        heard.map(|(_, what)| what.clone()).collect()
    }

    /// Waits until a method was heard so often, for at most ten seconds.
    pub(crate) async fn hears(&self, method: &str, times: usize) {
        let waiting = async {
            loop {
                let news = self.news.notified();
                if self.heard(method).len() >= times {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(20), news).await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_secs(10), waiting).await;
        assert!(
            heard.is_ok(),
            "{method} was heard {} times: {:?}",
            self.heard(method).len(),
            self.script()
        );
    }

    fn hear(&self, method: &'static str, what: &str) -> Result<(), Status> {
        let mut script = self.script();
        script.heard.push((method, what.to_owned()));
        self.news.notify_waiters();
        match script.refusals.iter().position(|(name, _)| *name == method) {
            Some(at) => Err(script.refusals.remove(at).1),
            None => Ok(()),
        }
    }

    fn take(&self, most: u32) -> Vec<Attempt> {
        let mut script = self.script();
        let count = script.ready.len().min(most as usize);
        script.ready.drain(..count).collect()
    }
}

fn attempt(node: &str) -> Attempt {
    Attempt {
        lease: Some(Lease {
            task_id: node.to_owned(),
            lease_id: format!("lease-{node}"),
            epoch: 1,
        }),
        node: node.to_owned(),
        lease_ms: LEASE_MS,
        attempt: 1,
        ..Attempt::default()
    }
}

fn task(lease: Option<&Lease>) -> &str {
    lease.map_or("", |lease| &lease.task_id)
}

fn token<T>(request: &Request<T>) -> String {
    let header = request.metadata().get("authorization");
    header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

#[tonic::async_trait]
impl WorkerService for Service {
    async fn register(
        &self,
        request: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        self.hear("register", &token(&request))?;
        Ok(Response::new(RegisterResponse {
            registration_id: format!("registration-{}", self.heard("register").len()),
            lease_ms: LEASE_MS,
            token: self.script().renewed_token.clone(),
        }))
    }

    async fn poll(&self, request: Request<PollRequest>) -> Result<Response<PollResponse>, Status> {
        self.hear("poll", &token(&request))?;
        let most = request.into_inner().max;
        {
            let mut script = self.script();
            script.most_offered = script.most_offered.max(most);
        }
        let waiting = async {
            loop {
                let news = self.news.notified();
                let attempts = self.take(most);
                if !attempts.is_empty() {
                    return attempts;
                }
                news.await;
            }
        };
        let attempts = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        Ok(Response::new(PollResponse {
            attempts: attempts.unwrap_or_default(),
            token: String::new(),
        }))
    }

    async fn heartbeat(
        &self,
        request: Request<HeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        let leases = request.into_inner().leases;
        if !leases.is_empty() {
            self.hear("heartbeat", "")?;
        }
        let state = self.script().answers;
        let status = |lease: Lease| LeaseStatus {
            lease_id: lease.lease_id,
            state: state.into(),
            lease_ms: LEASE_MS,
        };
        Ok(Response::new(HeartbeatResponse {
            leases: leases.into_iter().map(status).collect(),
        }))
    }

    async fn complete(
        &self,
        request: Request<CompleteRequest>,
    ) -> Result<Response<CompleteResponse>, Status> {
        let request = request.into_inner();
        let output = String::from_utf8(request.output.to_vec()).unwrap();
        self.hear("output", &output)?;
        self.hear("complete", task(request.lease.as_ref()))?;
        let next = self.take(request.next);
        let gate = self.script().answer_when.clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        Ok(Response::new(CompleteResponse { next }))
    }

    async fn fail(&self, request: Request<FailRequest>) -> Result<Response<FailResponse>, Status> {
        let request = request.into_inner();
        self.hear(
            "fail",
            &format!("{} {}", task(request.lease.as_ref()), request.code),
        )?;
        Ok(Response::new(FailResponse::default()))
    }

    async fn park(&self, request: Request<ParkRequest>) -> Result<Response<ParkResponse>, Status> {
        let request = request.into_inner();
        self.hear(
            "park",
            &format!("{} {}", task(request.lease.as_ref()), request.signal),
        )?;
        Ok(Response::new(ParkResponse {}))
    }

    async fn release(
        &self,
        request: Request<ReleaseRequest>,
    ) -> Result<Response<ReleaseResponse>, Status> {
        self.hear("release", task(request.into_inner().lease.as_ref()))?;
        Ok(Response::new(ReleaseResponse {}))
    }

    async fn mint_agent_token(
        &self,
        request: Request<MintAgentTokenRequest>,
    ) -> Result<Response<MintAgentTokenResponse>, Status> {
        let request = request.into_inner();
        let task = task(request.lease.as_ref());
        self.hear("mint_agent_token", task)?;
        Ok(Response::new(MintAgentTokenResponse {
            token: format!("token-of-{task}"),
            expire_time: None,
        }))
    }

    // What this worker does not call.
    type WorkStream = tokio_stream::Empty<Result<WorkResponse, Status>>;

    async fn work(
        &self,
        _: Request<tonic::Streaming<WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        Err(Status::unimplemented("work"))
    }

    async fn complete_many(
        &self,
        _: Request<CompleteManyRequest>,
    ) -> Result<Response<CompleteManyResponse>, Status> {
        Err(Status::unimplemented("complete_many"))
    }
}

/// A refusal as services write it.
pub(crate) fn refusal(code: Code, reason: &str, wait_ms: Option<u64>) -> Status {
    let mut details =
        ErrorDetails::with_error_info(reason, "cambium", std::collections::HashMap::new());
    if let Some(wait) = wait_ms {
        details.set_retry_info(Some(Duration::from_millis(wait)));
    }
    Status::with_error_details(code, reason.to_lowercase(), details)
}

pub(crate) struct Worker {
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<Ended, Error>>,
}

impl Worker {
    pub(crate) async fn stop(self) -> Result<Ended, Error> {
        self.ask_to_stop().await
    }

    pub(crate) fn ask_to_stop(self) -> impl Future<Output = Result<Ended, Error>> {
        let _ = self.stop.send(());
        async { self.running.await.unwrap() }
    }

    pub(crate) async fn ends(self) -> Result<Ended, Error> {
        let Self { stop, running } = self;
        let ended = running.await.unwrap();
        drop(stop);
        ended
    }
}

/// Serves `service` on a port of its own.
pub(crate) async fn serve(service: &Service) -> String {
    serve_routes(Routes::new(WorkerServiceServer::new(service.clone()))).await
}

#[expect(
    clippy::disallowed_methods,
    reason = "a scripted service needs none of the limits"
)]
async fn serve_routes(routes: Routes) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_routes(routes);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    url
}

/// Starts a worker against `service`.
pub(crate) async fn start(service: &Service, slots: u32, work: impl Work) -> Worker {
    work_at(&serve(service).await, slots, work)
}

/// Starts a worker against `service` and one that keeps marks.
pub(crate) async fn start_beside<M: MarkerService>(
    service: &Service,
    marks: MarkerServiceServer<M>,
    slots: u32,
    work: impl Work,
) -> Worker {
    let routes = Routes::new(WorkerServiceServer::new(service.clone())).add_service(marks);
    work_at(&serve_routes(routes).await, slots, work)
}

fn work_at(url: &str, slots: u32, work: impl Work) -> Worker {
    let tokens = Arc::new(StaticToken::new("first"));
    let connection = Connection::open(url, tokens, Default::default()).unwrap();
    let options = Options {
        workspace: "default".to_owned(),
        worker: "w1".to_owned(),
        agent_ids: vec!["a1".to_owned()],
        slots,
        capabilities: Vec::new(),
    };
    let (stop, stopped) = oneshot::channel();
    let runtime = Runtime::new(&connection, options, work);
    let running = tokio::spawn(runtime.run(async move {
        let _ = stopped.await;
    }));
    Worker { stop, running }
}
