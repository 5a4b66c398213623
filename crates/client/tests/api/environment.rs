//! Marks that simulated work leaves, against a service that keeps them by a script.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cambium_client::worker::Simulate;
use cambium_proto::hypha::v1::{Attempt, Lease};
use cambium_proto::stigmergy::v1::marker_service_server::{MarkerService, MarkerServiceServer};
use cambium_proto::stigmergy::v1::*;
use tonic::{Request, Response, Status};

use crate::fixture::{self, LEASE_MS, Service};

/// Keeps one mark at most, and writes down who did what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    kept: Arc<Mutex<Option<Marker>>>,
    heard: Arc<Mutex<Vec<(String, String)>>>,
    is_full: bool,
}

impl Marks {
    fn hear<T>(&self, method: &str, request: &Request<T>) {
        let token = request.metadata().get("authorization").unwrap();
        let token = token.to_str().unwrap();
        let heard = (method.to_owned(), token.to_owned());
        self.heard.lock().unwrap().push(heard);
    }
}

#[tonic::async_trait]
impl MarkerService for Marks {
    async fn place_marker(
        &self,
        request: Request<PlaceMarkerRequest>,
    ) -> Result<Response<PlaceMarkerResponse>, Status> {
        self.hear("place", &request);
        if self.is_full {
            return Err(Status::resource_exhausted("ten a minute are enough"));
        }
        let request = request.into_inner();
        let marker = Marker {
            marker_id: "m1".to_owned(),
            region: request.region,
            payload: request.payload,
            placed_by: "a1".to_owned(),
            ..Marker::default()
        };
        *self.kept.lock().unwrap() = Some(marker.clone());
        Ok(Response::new(PlaceMarkerResponse {
            marker: Some(marker),
            ..PlaceMarkerResponse::default()
        }))
    }

    async fn sense_markers(
        &self,
        request: Request<SenseMarkersRequest>,
    ) -> Result<Response<SenseMarkersResponse>, Status> {
        self.hear("sense", &request);
        Ok(Response::new(SenseMarkersResponse {
            markers: self.kept.lock().unwrap().iter().cloned().collect(),
            more: false,
        }))
    }

    async fn transform_marker(
        &self,
        request: Request<TransformMarkerRequest>,
    ) -> Result<Response<TransformMarkerResponse>, Status> {
        self.hear("transform", &request);
        let mut kept = self.kept.lock().unwrap();
        if let Some(marker) = kept.as_mut() {
            marker.payload = request.into_inner().payload;
        }
        Ok(Response::new(TransformMarkerResponse {
            marker: kept.clone(),
        }))
    }

    // What this work does not call.
    async fn reinforce_marker(
        &self,
        _: Request<ReinforceMarkerRequest>,
    ) -> Result<Response<ReinforceMarkerResponse>, Status> {
        Err(Status::unimplemented("reinforce_marker"))
    }

    async fn sense_gradient(
        &self,
        _: Request<SenseGradientRequest>,
    ) -> Result<Response<SenseGradientResponse>, Status> {
        Err(Status::unimplemented("sense_gradient"))
    }

    async fn get_marker(
        &self,
        _: Request<GetMarkerRequest>,
    ) -> Result<Response<GetMarkerResponse>, Status> {
        Err(Status::unimplemented("get_marker"))
    }

    async fn get_lineage(
        &self,
        _: Request<GetLineageRequest>,
    ) -> Result<Response<GetLineageResponse>, Status> {
        Err(Status::unimplemented("get_lineage"))
    }

    type WatchMarkersStream = tokio_stream::Empty<Result<WatchMarkersResponse, Status>>;

    async fn watch_markers(
        &self,
        _: Request<WatchMarkersRequest>,
    ) -> Result<Response<Self::WatchMarkersStream>, Status> {
        Err(Status::unimplemented("watch_markers"))
    }

    async fn list_regions(
        &self,
        _: Request<ListRegionsRequest>,
    ) -> Result<Response<ListRegionsResponse>, Status> {
        Err(Status::unimplemented("list_regions"))
    }
}

/// A task of this agent whose config asks for marks.
fn task(node: &str, agent: &str, marks: &str) -> Attempt {
    Attempt {
        lease: Some(Lease {
            task_id: node.to_owned(),
            lease_id: format!("lease-{node}"),
            epoch: 1,
        }),
        node: node.to_owned(),
        agent_id: agent.to_owned(),
        config: Bytes::from(format!(r#"{{"simulate":{{"marks":{marks}}}}}"#)),
        lease_ms: LEASE_MS,
        attempt: 1,
        ..Attempt::default()
    }
}

const PLACE: &str = r#"{"place":{"region":"r","type":"knowledge.strategy","payload":{"n":1}}}"#;
const TRANSFORM: &str = r#"{"sense":{"region":"r","transform":{"n":2}}}"#;

/// Does these tasks one after the other; answers the outputs.
async fn work(marks: &Marks, tasks: Vec<Attempt>) -> Vec<serde_json::Value> {
    let service = Service::default();
    let count = tasks.len();
    service.script().ready.extend(tasks);

    let keeper = MarkerServiceServer::new(marks.clone());
    let worker = fixture::start_beside(&service, keeper, 1, Simulate::default()).await;
    service.hears("complete", count).await;
    worker.stop().await.unwrap();

    let outputs = service.heard("output").into_iter();
    outputs
        .map(|output| serde_json::from_str(&output).unwrap())
        .collect()
}

#[tokio::test]
async fn one_task_leaves_a_mark_and_another_builds_upon_it_each_as_its_own_agent() {
    let marks = Marks::default();

    let outputs = work(
        &marks,
        vec![task("a", "a1", PLACE), task("b", "a2", TRANSFORM)],
    )
    .await;

    let kept = marks.kept.lock().unwrap().clone().unwrap();
    let heard = marks.heard.lock().unwrap().clone();
    let by = |method: &str, task: &str| (method.to_owned(), format!("Bearer token-of-{task}"));
    assert_eq!(
        heard,
        [by("place", "a"), by("sense", "b"), by("transform", "b")]
    );
    assert_eq!(
        (kept.region.as_str(), &*kept.payload),
        ("r", &br#"{"n":2}"#[..])
    );
    assert_eq!(outputs[0]["marks"], serde_json::json!({"placed": "m1"}));
    assert_eq!(
        outputs[1]["marks"],
        serde_json::json!({"sensed": 1, "transformed": "m1"})
    );
}

#[tokio::test]
async fn nobody_builds_upon_a_mark_of_its_own() {
    let marks = Marks::default();

    let outputs = work(
        &marks,
        vec![task("a", "a1", PLACE), task("b", "a1", TRANSFORM)],
    )
    .await;

    assert_eq!(outputs[1]["marks"], serde_json::json!({"sensed": 1}));
}

#[tokio::test]
async fn a_refused_mark_is_told_in_the_output_and_fails_nothing() {
    let marks = Marks {
        is_full: true,
        ..Marks::default()
    };

    let outputs = work(&marks, vec![task("a", "a1", PLACE)]).await;

    let refused = serde_json::json!({"refused": "ten a minute are enough"});
    assert_eq!(outputs[0]["marks"], refused);
}
