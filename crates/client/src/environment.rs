//! What an agent does in the shared environment: leaves marks, reads those of others, builds on them. Whose agent it is, the
//! connection's token says. Keeps nothing, and follows nothing that a payload says: what is read is data.

use bytes::Bytes;
use cambium_proto::stigmergy::v1::{
    Marker, PlaceMarkerRequest, PlaceMarkerResponse, ReinforceMarkerRequest, SenseMarkersRequest,
    SenseMarkersResponse, TransformMarkerRequest,
};
use tonic::Status;
use uuid::Uuid;

use crate::Connection;

/// The environment of one workspace, as one agent meets it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Environment {
    connection: Connection,
    workspace: String,
}

/// A mark to leave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// A path, as in `repo/cambium/docs`.
    pub region: String,
    /// Dotted; the first word is the category, as in `knowledge.pattern`.
    pub kind: String,
    /// UTF-8 JSON; empty is none.
    pub payload: Bytes,
    /// 0 to 1; `None` is 0.5.
    pub intensity: Option<f64>,
    /// From 30 s to 30 days; `None` is the category's.
    pub half_life_s: Option<i32>,
}

impl Environment {
    /// Acts as whoever the connection's token names.
    #[must_use]
    pub fn new(connection: &Connection, workspace: &str) -> Self {
        Self {
            connection: connection.clone(),
            workspace: workspace.to_owned(),
        }
    }

    /// Leaves a mark.
    pub async fn place(&self, mark: Mark) -> Result<PlaceMarkerResponse, Status> {
        let request = PlaceMarkerRequest {
            workspace_id: self.workspace.clone(),
            request_id: request_id(),
            region: mark.region,
            r#type: mark.kind,
            intensity: mark.intensity,
            half_life_s: mark.half_life_s,
            payload: mark.payload.into(),
        };
        let call = || {
            let (mut markers, request) = (self.connection.markers(), request.clone());
            async move { markers.place_marker(request).await }
        };
        self.connection.retrying(call).await
    }

    /// Live marks, as the request asks for them; its workspace is this one.
    pub async fn sense(
        &self,
        request: SenseMarkersRequest,
    ) -> Result<SenseMarkersResponse, Status> {
        let request = SenseMarkersRequest {
            workspace_id: self.workspace.clone(),
            ..request
        };
        let call = || {
            let (mut markers, request) = (self.connection.markers(), request.clone());
            async move { markers.sense_markers(request).await }
        };
        self.connection.retrying(call).await
    }

    /// Makes a mark stronger, one's own too.
    pub async fn reinforce(&self, marker_id: &str) -> Result<Option<Marker>, Status> {
        let request = ReinforceMarkerRequest {
            workspace_id: self.workspace.clone(),
            request_id: request_id(),
            marker_id: marker_id.to_owned(),
        };
        let call = || {
            let (mut markers, request) = (self.connection.markers(), request.clone());
            async move { markers.reinforce_marker(request).await }
        };
        Ok(self.connection.retrying(call).await?.marker)
    }

    /// Builds on another agent's mark: replaces its payload. ABORTED unless it has this version; 0 is whatever it has.
    pub async fn transform(
        &self,
        marker_id: &str,
        payload: Bytes,
        expected_version: i64,
    ) -> Result<Option<Marker>, Status> {
        let request = TransformMarkerRequest {
            workspace_id: self.workspace.clone(),
            request_id: request_id(),
            marker_id: marker_id.to_owned(),
            payload: payload.into(),
            expected_version,
        };
        let call = || {
            let (mut markers, request) = (self.connection.markers(), request.clone());
            async move { markers.transform_marker(request).await }
        };
        Ok(self.connection.retrying(call).await?.marker)
    }
}

fn request_id() -> String {
    Uuid::now_v7().to_string()
}
