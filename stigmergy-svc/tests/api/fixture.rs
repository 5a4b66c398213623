//! A real stigmergy on a port of its own, with a database of its own.

use std::net::SocketAddr;

use cambium_kernel::AgentId;
use cambium_proto::stigmergy::v1::marker_service_client::MarkerServiceClient;
use cambium_proto::stigmergy::v1::{
    GetMarkerRequest, Marker, PlaceMarkerRequest, PlaceMarkerResponse, ReinforceMarkerRequest,
    SenseMarkersRequest, SenseMarkersResponse, TransformMarkerRequest,
};
use cambium_service_kit::config::Secret;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::{Bearer, Database, Keys, with_token};
use chrono::{DateTime, Utc};
use prost_types::Timestamp;
use sqlx::{AssertSqlSafe, Row as _};
use stigmergy_svc::{Config, MIGRATOR};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

pub(crate) type Client = MarkerServiceClient<InterceptedService<Channel, Bearer>>;

pub(crate) const WORKSPACE: &str = "default";
pub(crate) const REGION: &str = "repo/docs";

pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    pub(crate) channel: Channel,
    stop: Stop,
}

/// With nobody to hear its signals.
pub(crate) async fn start() -> Fixture {
    start_telling(None).await
}

/// With immune at that address, now or later.
pub(crate) async fn start_telling(immune: Option<String>) -> Fixture {
    let database = cambium_testkit::database("stigmergy", &MIGRATOR).await;
    let keys = Keys::new();
    let stop = Stop::new();
    let channel = serve(config(&database, &keys, immune), &stop).await;
    Fixture {
        database,
        keys,
        channel,
        stop,
    }
}

fn config(database: &Database, keys: &Keys, immune: Option<String>) -> Config {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(database.url.as_str()),
        connections: 6,
        credentials: keys.credentials("stigmergy"),
        bundle: keys.bundle(),
        immune,
    }
}

async fn serve(config: Config, stop: &Stop) -> Channel {
    let listener = TcpListener::bind(config.listen).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let built = stigmergy_svc::build(config, stop.clone()).await.unwrap();
    tokio::spawn(service::serve(listener, built, stop.clone()));
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

impl Fixture {
    /// Another process of the same service, on the same database.
    pub(crate) async fn replica(&self) -> Channel {
        serve(config(&self.database, &self.keys, None), &self.stop).await
    }

    pub(crate) fn bearing(&self, token: &str) -> Client {
        MarkerServiceClient::new(with_token(self.channel.clone(), token))
    }

    /// As the agent of that name.
    pub(crate) fn agent(&self, name: &str) -> Client {
        self.bearing(&self.keys.agent(agent(name)))
    }

    pub(crate) fn operator(&self) -> Client {
        self.bearing(&self.keys.operator())
    }

    /// Of type `path.to` in [`REGION`].
    pub(crate) async fn place(&self, name: &str, intensity: f64) -> Result<Marker, Status> {
        let request = PlaceMarkerRequest {
            intensity: Some(intensity),
            ..placing(REGION, "path.to")
        };
        Ok(self.send(name, request).await?.marker.unwrap())
    }

    pub(crate) async fn send(
        &self,
        name: &str,
        request: PlaceMarkerRequest,
    ) -> Result<PlaceMarkerResponse, Status> {
        let placed = self.agent(name).place_marker(request).await;
        placed.map(Response::into_inner)
    }

    pub(crate) async fn reinforce(&self, name: &str, marker: &Marker) -> Result<Marker, Status> {
        let request = ReinforceMarkerRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            marker_id: marker.marker_id.clone(),
        };
        let reply = self.agent(name).reinforce_marker(request).await?;
        Ok(reply.into_inner().marker.unwrap())
    }

    pub(crate) async fn transform(&self, name: &str, marker: &Marker) -> Result<Marker, Status> {
        let payload = format!("{{\"by\":\"{name}\"}}");
        self.transform_with(name, transforming(marker, &payload))
            .await
    }

    pub(crate) async fn transform_with(
        &self,
        name: &str,
        request: TransformMarkerRequest,
    ) -> Result<Marker, Status> {
        let reply = self.agent(name).transform_marker(request).await?;
        Ok(reply.into_inner().marker.unwrap())
    }

    /// As the agent `reader`.
    pub(crate) async fn sense(
        &self,
        request: SenseMarkersRequest,
    ) -> Result<SenseMarkersResponse, Status> {
        let sensed = self.agent("reader").sense_markers(request).await;
        sensed.map(Response::into_inner)
    }

    pub(crate) async fn get(&self, marker: &Marker) -> Result<Marker, Status> {
        let request = GetMarkerRequest {
            workspace_id: WORKSPACE.to_owned(),
            marker_id: marker.marker_id.clone(),
        };
        let reply = self.agent("reader").get_marker(request).await?;
        Ok(reply.into_inner().marker.unwrap())
    }

    /// Stops the database's clock at a moment, until it is moved again.
    pub(crate) async fn freeze_at(&self, moment: DateTime<Utc>) {
        let replace = format!(
            "CREATE OR REPLACE FUNCTION stigmergy.now() RETURNS timestamptz LANGUAGE sql VOLATILE
             RETURN '{}'::timestamptz",
            moment.to_rfc3339()
        );
        let replaced = sqlx::raw_sql(AssertSqlSafe(replace))
            .execute(&self.database.owner)
            .await;
        replaced.unwrap();
    }

    /// Everything that a call could change, to be held against what it was before a refused one.
    pub(crate) async fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        for table in [
            "marker",
            "payload_version",
            "region",
            "rate",
            "marker_event",
            "workspace",
            "receipt",
            "outbox",
        ] {
            let select = format!("SELECT t::text AS row FROM stigmergy.{table} t ORDER BY 1");
            let rows = sqlx::query(AssertSqlSafe(select))
                .fetch_all(&self.database.owner)
                .await
                .unwrap();
            state.extend(
                rows.iter()
                    .map(|row| format!("{table}: {}", row.get::<String, _>(0))),
            );
        }
        state
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        let select = format!("SELECT count(*) FROM stigmergy.{table}");
        sqlx::query_scalar(AssertSqlSafe(select))
            .fetch_one(&self.database.owner)
            .await
            .unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// The id of the agent of that name: the same every time.
pub(crate) fn agent(name: &str) -> AgentId {
    let mut bytes = [0; 16];
    for (place, byte) in name.bytes().enumerate() {
        bytes[place % 16] ^= byte.rotate_left(u32::try_from(place / 16).unwrap());
    }
    AgentId::from_uuid(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

pub(crate) fn id() -> String {
    Uuid::new_v4().to_string()
}

/// Under a new request id, as loud and as lasting as is usual.
pub(crate) fn placing(region: &str, kind: &str) -> PlaceMarkerRequest {
    PlaceMarkerRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        region: region.to_owned(),
        r#type: kind.to_owned(),
        ..PlaceMarkerRequest::default()
    }
}

pub(crate) fn transforming(marker: &Marker, payload: &str) -> TransformMarkerRequest {
    TransformMarkerRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        marker_id: marker.marker_id.clone(),
        payload: payload.as_bytes().to_vec(),
        expected_version: 0,
    }
}

/// Whatever is at or below a region.
pub(crate) fn sensing(region: &str) -> SenseMarkersRequest {
    SenseMarkersRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: region.to_owned(),
        below: true,
        ..SenseMarkersRequest::default()
    }
}

pub(crate) fn ids(markers: &[Marker]) -> Vec<&str> {
    markers
        .iter()
        .map(|marker| marker.marker_id.as_str())
        .collect()
}

/// Code and reason.
pub(crate) fn refusal(status: &Status) -> (Code, String) {
    let reason = status.get_details_error_info().unwrap().reason;
    (status.code(), reason)
}

/// The one field at fault.
pub(crate) fn field(status: &Status) -> String {
    let mut violations = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(violations.len(), 1);
    violations.remove(0).field
}

pub(crate) fn time(timestamp: Option<Timestamp>) -> DateTime<Utc> {
    let time = timestamp.unwrap();
    DateTime::from_timestamp(time.seconds, time.nanos.try_into().unwrap()).unwrap()
}
