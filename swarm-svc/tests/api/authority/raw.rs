//! Calls as bytes: one way to send any request to any method, whatever its shape.

use prost::Message;
use prost::bytes::{Buf as _, BufMut as _};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};

use cambium_testkit::with_token;

use crate::fixture::Fixture;

/// A request, ready to be sent to a method.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) path: String,
    body: Vec<u8>,
}

/// To a method of swarm, as in `ControlService/SetShare`.
pub(super) fn call(method: &str, request: &impl Message) -> Call {
    to(&format!("/cambium.swarm.v1.{method}"), request)
}

/// To any method.
pub(super) fn to(path: &str, request: &impl Message) -> Call {
    Call {
        path: path.to_owned(),
        body: request.encode_to_vec(),
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let left = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(left).to_vec()))
    }
}

impl Fixture {
    /// Sends it with this token, or with none. Of a watch only the beginning is awaited; of all others the first message.
    pub(super) async fn send(&self, token: Option<&str>, call: &Call) -> Result<Vec<u8>, Status> {
        let path = PathAndQuery::from_maybe_shared(call.path.clone()).unwrap();
        let request = Request::new(tokio_stream::once(call.body.clone()));
        let reply = match token {
            Some(token) => {
                let mut client = Grpc::new(with_token(self.channel(), token));
                client.ready().await.unwrap();
                client.streaming(request, path, Bytes).await?
            }
            None => {
                let mut client = Grpc::new(self.channel());
                client.ready().await.unwrap();
                client.streaming(request, path, Bytes).await?
            }
        };
        if call.path.contains("/Watch") {
            return Ok(Vec::new());
        }
        let first = reply.into_inner().message().await?;
        Ok(first.unwrap_or_default())
    }
}
