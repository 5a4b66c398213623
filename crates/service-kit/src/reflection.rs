//! Lets tools ask a port what it speaks: the contracts with their comments, health, and reflection itself.
//! Needs a token like any call; where it is served at all is the service's choice.

use anyhow::Context;
use tonic_reflection::server::Builder;
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use tonic_reflection::server::v1alpha;

/// Both versions of the reflection service: older tools know only `v1alpha`.
pub fn services() -> anyhow::Result<(
    ServerReflectionServer<impl ServerReflection>,
    v1alpha::ServerReflectionServer<impl v1alpha::ServerReflection>,
)> {
    let contracts = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(cambium_proto::DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Ok((
        contracts()
            .build_v1()
            .context("the contracts cannot be reflected")?,
        contracts()
            .build_v1alpha()
            .context("the contracts cannot be reflected")?,
    ))
}
