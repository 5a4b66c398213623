//! Which crate may depend on which: the table of the house style, read against `cargo metadata`.
//! Looks at declared edges only, and repairs nothing.

#[cfg(test)]
mod tests;

use std::fmt;

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// What a crate is for, which decides what it may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Kernel,
    Domain,
    Proto,
    Kit,
    Formats,
    Client,
    Testkit,
    Service,
    /// The command, the stories and the chores: they start or call whatever they need.
    Tool,
}

/// Libraries without I/O, time or wire types: all that a pure crate may use.
const PURE: &[&str] = &[
    "cel",
    "chrono",
    "petgraph",
    "serde-saphyr",
    "serde_json",
    "sha2",
    "thiserror",
    "unicode-normalization",
    "uuid",
];
const KERNEL: &[&str] = &["chrono", "thiserror", "uuid"];
const GENERATED: &[&str] = &["bytes", "prost", "prost-types", "tonic", "tonic-prost"];
const TEXT: &[&str] = &["flate2", "serde", "serde-saphyr", "serde_json", "thiserror"];

impl Layer {
    /// The layer of a crate, by its name and folder; none for a crate that no rule knows.
    fn of(name: &str, folder: &str) -> Option<Self> {
        Some(match name {
            "cambium-kernel" => Self::Kernel,
            "cambium-proto" => Self::Proto,
            "cambium-service-kit" => Self::Kit,
            "cambium-formats" => Self::Formats,
            "cambium-client" => Self::Client,
            "cambium-testkit" => Self::Testkit,
            "cambium-cli" | "cambium-e2e" | "xtask" => Self::Tool,
            _ if folder.ends_with("-svc/domain") => Self::Domain,
            _ if name.ends_with("-svc") && folder == name => Self::Service,
            _ => return None,
        })
    }

    /// Whether a crate of this layer may use that crate of ours in what it ships.
    fn may_use(self, from: &Crate, to: &Crate) -> bool {
        match (self, to.layer) {
            (Self::Tool, _)
            | (
                Self::Domain | Self::Client | Self::Formats | Self::Kit | Self::Service,
                Self::Kernel,
            )
            | (Self::Client | Self::Formats | Self::Kit | Self::Service, Self::Proto)
            | (Self::Service, Self::Kit | Self::Formats) // hypha imports graphs by RPC
            | (Self::Testkit, Self::Kernel | Self::Proto | Self::Kit) => true,
            (Self::Service, Self::Domain) => to.folder == format!("{}/domain", from.folder),
            _ => false,
        }
    }

    /// Whether a crate of this layer may use somebody else's crate in what it ships.
    fn may_import(self, library: &str) -> bool {
        match self {
            Self::Kernel => KERNEL.contains(&library),
            Self::Domain => PURE.contains(&library),
            Self::Proto => GENERATED.contains(&library),
            Self::Formats => TEXT.contains(&library),
            Self::Client => !matches!(library, "axum" | "cedar-policy" | "sqlx"),
            Self::Kit | Self::Testkit | Self::Service | Self::Tool => library != "cedar-policy",
        }
    }
}

#[derive(Debug)]
struct Crate {
    name: String,
    /// From the root of the workspace.
    folder: String,
    layer: Layer,
}

/// One edge that the table does not list.
#[derive(Debug, PartialEq, Eq)]
enum Breach {
    UnknownCrate(String),
    Inner { from: String, to: String },
    Outer { from: String, library: String },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCrate(name) => {
                write!(f, "{name} has no layer: give it one in xtask/src/layers.rs")
            }
            Self::Inner { from, to } => write!(f, "{from} may not depend on {to}"),
            Self::Outer { from, library } => write!(f, "{from} may not use the library {library}"),
        }
    }
}

/// Judges one crate's declared dependencies.
fn breaches(from: &Crate, ours: &[Crate], dependencies: &[Dependency]) -> Vec<Breach> {
    dependencies
        .iter()
        .filter_map(|dependency| breach(from, ours, dependency))
        .collect()
}

fn breach(from: &Crate, ours: &[Crate], dependency: &Dependency) -> Option<Breach> {
    let Dependency { name, kind } = dependency;
    match ours.iter().find(|to| to.name == *name) {
        Some(to) => {
            let helps_tests =
                *kind == DependencyKind::Development && may_help_tests(from.layer, to.layer);
            let allowed = helps_tests || from.layer.may_use(from, to);
            (!allowed).then(|| Breach::Inner {
                from: from.name.clone(),
                to: name.clone(),
            })
        }
        None => {
            let allowed = *kind != DependencyKind::Normal || from.layer.may_import(name);
            (!allowed).then(|| Breach::Outer {
                from: from.name.clone(),
                library: name.clone(),
            })
        }
    }
}

/// Tests may use the testkit, except those of pure crates.
fn may_help_tests(from: Layer, to: Layer) -> bool {
    to == Layer::Testkit
        && !matches!(
            from,
            Layer::Kernel | Layer::Domain | Layer::Proto | Layer::Formats
        )
}

#[derive(Debug)]
struct Dependency {
    name: String,
    kind: DependencyKind,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(crate::root())
        .no_deps()
        .other_options(vec!["--offline".to_owned()])
        .exec()
        .context("cargo metadata")?;
    let (ours, mut found) = crates(&metadata);
    let mut edges = 0;
    for package in metadata.workspace_packages() {
        if let Some(from) = ours.iter().find(|c| c.name == package.name.as_str()) {
            let declared = declared(package);
            edges += declared.len();
            found.extend(breaches(from, &ours, &declared));
        }
    }
    for breach in &found {
        eprintln!("layers: {breach}");
    }
    anyhow::ensure!(
        found.is_empty(),
        "{} edges that the layers do not allow",
        found.len()
    );
    println!("layers: {} crates, {edges} edges, all allowed", ours.len());
    Ok(())
}

fn crates(metadata: &Metadata) -> (Vec<Crate>, Vec<Breach>) {
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.to_string();
        let folder = folder(metadata, package);
        match Layer::of(&name, &folder) {
            Some(layer) => known.push(Crate {
                name,
                folder,
                layer,
            }),
            None => unknown.push(Breach::UnknownCrate(name)),
        }
    }
    (known, unknown)
}

fn folder(metadata: &Metadata, package: &Package) -> String {
    let manifest = package
        .manifest_path
        .parent()
        .expect("a manifest is in a folder");
    let folder = manifest
        .strip_prefix(&metadata.workspace_root)
        .unwrap_or(manifest);
    folder.to_string()
}

fn declared(package: &Package) -> Vec<Dependency> {
    let declared = package.dependencies.iter();
    declared
        .map(|dependency| Dependency {
            name: dependency.name.clone(),
            kind: dependency.kind,
        })
        .collect()
}
