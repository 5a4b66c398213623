//! Asks a server what it speaks.

use std::collections::{BTreeMap, VecDeque};

use anyhow::{Context as _, bail};
use cambium_client::Connection;
use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

/// One conversation, so that one server answers all of it.
#[derive(Debug)]
pub(super) struct Reflection {
    ask: mpsc::Sender<ServerReflectionRequest>,
    replies: Streaming<ServerReflectionResponse>,
}

pub(super) async fn open(connection: &Connection) -> anyhow::Result<Reflection> {
    let (ask, requests) = mpsc::channel(1);
    // The server answers the opening only after the first request.
    ask.send(request(MessageRequest::ListServices(String::new())))
        .await?;
    let mut client =
        ServerReflectionClient::new(connection.authorized()).max_decoding_message_size(32 << 20);
    let replies = client
        .server_reflection_info(ReceiverStream::new(requests))
        .await?
        .into_inner();
    Ok(Reflection { ask, replies })
}

impl Reflection {
    /// The services' full names; the answer to what [`open`] asked.
    pub(super) async fn services(&mut self) -> anyhow::Result<Vec<String>> {
        match self.reply().await? {
            MessageResponse::ListServicesResponse(list) => {
                let mut names: Vec<String> = list
                    .service
                    .into_iter()
                    .map(|service| service.name)
                    .collect();
                names.sort();
                Ok(names)
            }
            _ => bail!("the server answered something else than the list of its services"),
        }
    }

    /// Everything that these services' contracts name.
    pub(super) async fn describe(&mut self, services: &[String]) -> anyhow::Result<DescriptorPool> {
        let mut found: BTreeMap<String, FileDescriptorProto> = BTreeMap::new();
        let mut missing: VecDeque<MessageRequest> = services
            .iter()
            .cloned()
            .map(MessageRequest::FileContainingSymbol)
            .collect();
        while let Some(wanted) = missing.pop_front() {
            if matches!(&wanted, MessageRequest::FileByFilename(name) if found.contains_key(name)) {
                continue;
            }
            for file in self.files(wanted).await? {
                let unseen = file
                    .dependency
                    .iter()
                    .filter(|name| !found.contains_key(*name));
                missing.extend(unseen.cloned().map(MessageRequest::FileByFilename));
                found.insert(file.name().to_owned(), file);
            }
        }
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_protos(found.into_values())
            .context("the server's contracts do not fit together")?;
        Ok(pool)
    }

    async fn files(&mut self, wanted: MessageRequest) -> anyhow::Result<Vec<FileDescriptorProto>> {
        self.ask.send(request(wanted)).await?;
        match self.reply().await? {
            MessageResponse::FileDescriptorResponse(files) => files
                .file_descriptor_proto
                .iter()
                .map(|bytes| {
                    FileDescriptorProto::decode(bytes.as_slice())
                        .context("a contract cannot be read")
                })
                .collect(),
            MessageResponse::ErrorResponse(error) => {
                bail!("the server does not describe it: {}", error.error_message)
            }
            _ => bail!("the server answered something else than a contract"),
        }
    }

    async fn reply(&mut self) -> anyhow::Result<MessageResponse> {
        let reply = self
            .replies
            .message()
            .await?
            .context("the server ended its answer early")?;
        reply
            .message_response
            .context("the server's answer is empty")
    }
}

fn request(wanted: MessageRequest) -> ServerReflectionRequest {
    ServerReflectionRequest {
        host: String::new(),
        message_request: Some(wanted),
    }
}
