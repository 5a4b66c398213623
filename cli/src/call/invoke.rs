//! Calls a method of which only the descriptor is known.

use bytes::{Buf as _, BufMut as _, Bytes};
use cambium_client::{Connection, NoDeadline};
use prost::Message as _;
use prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Request, Status};

use crate::failure::Refusal;

/// Sends one request and hands on each reply. A single reply is a stream of one.
pub(super) async fn call(
    connection: &Connection,
    method: &MethodDescriptor,
    request: &DynamicMessage,
    mut see: impl FnMut(&DynamicMessage) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if method.is_client_streaming() {
        let text = format!(
            "{} takes a stream of requests, and this command sends one",
            method.full_name()
        );
        return Err(Refusal::Usage(text).into());
    }
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let mut sent = Request::new(Bytes::from(request.encode_to_vec()));
    if method.is_server_streaming() {
        sent.extensions_mut().insert(NoDeadline);
    }
    let mut client = Grpc::new(connection.authorized()).max_decoding_message_size(33 << 20);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let reply = client.server_streaming(sent, path.parse()?, Raw).await?;
    let mut stream = reply.into_inner();
    while let Some(bytes) = stream.message().await? {
        see(&DynamicMessage::decode(method.output(), bytes)?)?;
    }
    Ok(())
}

/// Messages as their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
