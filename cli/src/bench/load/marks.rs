//! Marks under load: placed and reinforced by many agents in many regions, and sensed in one. The rate that an agent has in a
//! region bounds nothing here: there are enough of both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cambium_client::{Environment, Mark};
use cambium_proto::stigmergy::v1::SenseMarkersRequest;
use cambium_service_kit::shutdown::Stop;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::cycle::WARM_UP;
use super::parent::Parent;
use super::site::{CALLS_PER_CONNECTION, Site};
use crate::bench::job::{Closed, Loaded, Sense};
use crate::bench::spread::percentile_ms;
use crate::context::Context;

/// Each client takes the part of so many agents in turn.
const AGENTS_EACH: u32 = 2;
/// Two operations a visit: at 80,000 a second, 10 a minute for each agent and region are not reached.
const REGIONS: u32 = 8_000;
/// The most that one agent may leave in one region at once.
const PER_AGENT: u32 = 10;
/// The most that one call brings.
const MOST: i32 = 500;

/// What is left, each in turn: of one in six, immune hears.
const KINDS: [&str; 6] = [
    "path.trail",
    "resource.cpu",
    "quality.good",
    "danger.flaky",
    "opportunity.gap",
    "knowledge.pattern",
];
const PAYLOAD: Bytes = Bytes::from_static(br#"{"use":"short words","n":1}"#);

/// When each call was answered, and how long that took.
type Took = Vec<(Instant, Duration)>;
type Clients = JoinSet<anyhow::Result<Took>>;

/// Places and reinforces until the time is up.
pub(super) async fn touch(
    clients: u32,
    seconds: u32,
    context: &Context,
    parent: &mut Parent,
) -> anyhow::Result<()> {
    let site = Site::with_agents(context, clients * AGENTS_EACH).await?;
    let stop = Stop::new();
    let mut working = Clients::new();
    for (number, agents) in (0..).zip(site.agent_ids.chunks(AGENTS_EACH as usize)) {
        let environments = agents.iter().map(|agent| environment(&site, agent));
        let visitor = Visitor {
            number,
            environments: environments.collect::<anyhow::Result<_>>()?,
            stop: stop.clone(),
        };
        working.spawn(visitor.work());
    }
    measure(working, &stop, seconds, parent).await
}

fn environment(site: &Site<'_>, agent: &str) -> anyhow::Result<Environment> {
    let own = site.as_agent(&site.operator, agent)?;
    Ok(Environment::new(&own, &site.workspace()))
}

struct Visitor {
    number: u32,
    environments: Vec<Environment>,
    stop: Stop,
}

impl Visitor {
    async fn work(self) -> anyhow::Result<Took> {
        let mut took = Took::new();
        for visit in 0.. {
            if self.stop.is_stopped() {
                break;
            }
            let environment = &self.environments[visit as usize % self.environments.len()];
            let region = format!("bench/r{}", (self.number * 251 + visit) % REGIONS);
            let mark = Mark {
                region,
                kind: KINDS[visit as usize % KINDS.len()].to_owned(),
                payload: PAYLOAD,
                ..Mark::default()
            };
            let sent = Instant::now();
            let placed = environment.place(mark).await?.marker;
            took.push(since(sent));
            let marker_id = placed.unwrap_or_default().marker_id;
            let sent = Instant::now();
            environment.reinforce(&marker_id).await?;
            took.push(since(sent));
        }
        Ok(took)
    }
}

fn since(sent: Instant) -> (Instant, Duration) {
    let now = Instant::now();
    (now, now - sent)
}

/// Senses one region until the time is up; each reply must bring what is there.
pub(super) async fn sense(
    sense: &Sense,
    context: &Context,
    parent: &mut Parent,
) -> anyhow::Result<()> {
    let agents = sense.marks.div_ceil(PER_AGENT).clamp(1, 64);
    let site = Site::with_agents(context, agents).await?;
    if sense.leave {
        leave(sense, &site).await?;
    }
    let (stop, sense) = (Stop::new(), Arc::new(sense.clone()));
    let mut working = Clients::new();
    let mut connection = site.operator_connection()?;
    for number in 0..sense.clients as usize {
        if number > 0 && number.is_multiple_of(CALLS_PER_CONNECTION) {
            connection = site.operator_connection()?;
        }
        let own = site.as_agent(&connection, &site.agent_ids[number % site.agent_ids.len()])?;
        let environment = Environment::new(&own, &site.workspace());
        working.spawn(look(environment, Arc::clone(&sense), stop.clone()));
    }
    measure(working, &stop, sense.seconds, parent).await
}

async fn leave(sense: &Sense, site: &Site<'_>) -> anyhow::Result<()> {
    for number in 0..sense.marks {
        let agent = &site.agent_ids[(number / PER_AGENT) as usize];
        let mark = Mark {
            region: sense.region.clone(),
            // The last that fades.
            kind: "knowledge.pattern".to_owned(),
            payload: PAYLOAD,
            ..Mark::default()
        };
        environment(site, agent)?.place(mark).await?;
    }
    Ok(())
}

async fn look(environment: Environment, sense: Arc<Sense>, stop: Stop) -> anyhow::Result<Took> {
    let request = SenseMarkersRequest {
        region: sense.region.clone(),
        below: sense.below,
        limit: MOST,
        ..SenseMarkersRequest::default()
    };
    let expected = sense.marks.min(MOST.unsigned_abs()) as usize;
    let mut took = Took::new();
    while !stop.is_stopped() {
        let sent = Instant::now();
        let found = environment.sense(request.clone()).await?.markers.len();
        took.push(since(sent));
        anyhow::ensure!(
            found == expected,
            "{found} marks were sensed, not {expected}"
        );
    }
    Ok(took)
}

/// Counts what was answered between the word to begin and the end of the time.
async fn measure(
    mut working: Clients,
    stop: &Stop,
    seconds: u32,
    parent: &mut Parent,
) -> anyhow::Result<()> {
    let window = Duration::from_secs(seconds.into());
    pass(&mut working, WARM_UP).await?;
    parent.begin().await?;
    let begun = Instant::now();
    pass(&mut working, window).await?;
    stop.stop();
    let mut all = Took::new();
    while let Some(ended) = working.join_next().await {
        all.extend(ended??);
    }
    let closed = Closed {
        tasks: all.len() as u64,
        lost: 0,
    };
    let is_in = |(at, _): &(Instant, Duration)| (begun..begun + window).contains(at);
    let mut took: Vec<Duration> = all
        .into_iter()
        .filter(is_in)
        .map(|(_, took)| took)
        .collect();
    took.sort_unstable();
    let loaded = Loaded {
        tasks: took.len() as u64,
        wall_s: window.as_secs_f64(),
        p50_ms: percentile_ms(&took, 50),
        p99_ms: percentile_ms(&took, 99),
        ..Loaded::default()
    };
    parent.loaded(&loaded).await?;
    parent.closed(closed).await
}

/// Lets time pass, unless a client fails first: none ends by itself.
async fn pass(working: &mut Clients, time: Duration) -> anyhow::Result<()> {
    tokio::select! {
        () = sleep(time) => Ok(()),
        Some(ended) = working.join_next() => {
            ended??;
            anyhow::bail!("a client ended early")
        }
    }
}
