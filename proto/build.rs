//! Compiles the contracts without protoc, and keeps the descriptor set whole for reflection and JSON.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells build scripts where to write"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=cambium");
    let mut compiler = protox::Compiler::new(["."])?;
    compiler.include_source_info(true).include_imports(true);
    compiler.open_files(contracts(Path::new("cambium"))?)?;

    // The compiler's own bytes: re-encoding through prost would drop custom options.
    let descriptors = PathBuf::from(env::var("OUT_DIR")?).join("cambium.binpb");
    fs::write(descriptors, compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure()
        .bytes(".cambium.hypha.v1")
        .boxed(".cambium.immune.v1.WatchAlertsResponse.event.alert")
        .boxed(".cambium.immune.v1.WatchStandingsResponse.event.standing")
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

/// Every `.proto` file below `folder`, in a stable order.
fn contracts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(contracts(&path)?);
        } else if path.extension().is_some_and(|end| end == "proto") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
