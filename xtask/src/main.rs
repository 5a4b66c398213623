//! Chores of this repository, run as `cargo xtask NAME`. Nothing a user of Cambium needs lives here.

mod layers;
mod postgres;
mod queries;
mod sizes;

const USAGE: &str = "\
usage: cargo xtask <chore>
  layers             fail if a crate depends on what its layer may not
  sizes              print functions over 60 lines and files over 400; never fails
  sqlx prepare       write .sqlx/ anew, from a private Postgres
  sqlx check         the same, then fail if .sqlx/ was stale
  postgres -- CMD    run CMD beside a private Postgres, named by CAMBIUM_TEST_POSTGRES";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["layers"] => layers::run(),
        ["sizes"] => sizes::run(),
        ["sqlx", "prepare"] => queries::prepare(),
        ["sqlx", "check"] => queries::check(),
        ["postgres", "--", command @ ..] if !command.is_empty() => postgres::run(command),
        _ => anyhow::bail!("{USAGE}"),
    }
}

/// A command that does not know it was started from `cargo run`: what that says of xtask would make build scripts
/// (ring's, say) run anew, and everything above them.
fn command(program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    for (name, _) in std::env::vars_os() {
        let ours = name
            .to_str()
            .is_some_and(|name| PACKAGE.iter().any(|prefix| name.starts_with(prefix)));
        if ours {
            command.env_remove(name);
        }
    }
    command
}

const PACKAGE: [&str; 4] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
];

/// Where the workspace is, whatever folder the command was typed in.
fn root() -> &'static std::path::Path {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace")
}
