//! Which methods exist: those of our contracts, and the two services that every port has beside them.

use std::sync::LazyLock;

use prost::Message;
use prost_types::FileDescriptorSet;

/// Stands for every path that leads nowhere.
pub(super) const UNKNOWN: &str = "/unknown";

pub(super) const HEALTH: [&str; 3] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/List",
    "/grpc.health.v1.Health/Watch",
];

pub(super) const REFLECTION: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The path of every method in the contracts, served here or not.
pub(super) fn methods() -> impl Iterator<Item = &'static str> {
    static METHODS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let set = FileDescriptorSet::decode(cambium_proto::DESCRIPTOR_SET)
            .expect("the build wrote the descriptor set");
        set.file.iter().flat_map(paths).collect()
    });
    METHODS.iter().map(String::as_str)
}

fn paths(file: &prost_types::FileDescriptorProto) -> Vec<String> {
    let services = file.service.iter().flat_map(|service| {
        let names = service
            .method
            .iter()
            .map(prost_types::MethodDescriptorProto::name);
        names.map(|method| format!("/{}.{}/{method}", file.package(), service.name()))
    });
    services.collect()
}
