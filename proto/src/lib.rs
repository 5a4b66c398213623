//! The contracts between services, workers and people, as generated code. Nothing here is written by hand.
#![allow(
    clippy::large_enum_variant,
    reason = "the compiler of contracts boxes nothing, and streams send the large variant most"
)]

/// Every contract with its comments and imports, as an encoded `FileDescriptorSet`.
pub const DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cambium.binpb"));

pub mod hypha {
    pub mod v1 {
        tonic::include_proto!("cambium.hypha.v1");
    }
}

pub mod genesis {
    pub mod v1 {
        tonic::include_proto!("cambium.genesis.v1");
    }
}

pub mod immune {
    pub mod v1 {
        tonic::include_proto!("cambium.immune.v1");
    }
}

pub mod stigmergy {
    pub mod v1 {
        tonic::include_proto!("cambium.stigmergy.v1");
    }
}

pub mod swarm {
    pub mod v1 {
        tonic::include_proto!("cambium.swarm.v1");
    }
}

pub mod signal {
    pub mod v1 {
        tonic::include_proto!("cambium.signal.v1");
    }
}
