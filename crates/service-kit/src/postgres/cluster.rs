//! The data folder: made once, whole or not at all, and never one of another Postgres version.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rand::TryRngCore;
use rand::rngs::OsRng;

use super::binaries::Binaries;
use super::identity::Identity;

/// Only a cluster that outlives us has a password; tests trust the machine they run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Trust,
    Password,
}

/// The major version of the cluster in `folder`, where there is one.
pub(super) fn version(folder: &Path) -> anyhow::Result<Option<u32>> {
    let file = folder.join("PG_VERSION");
    match fs::read_to_string(&file) {
        Ok(text) => {
            let major = text.trim().split('.').next().unwrap_or_default().parse();
            let unread = || {
                format!(
                    "{} does not name a Postgres version: choose another data folder",
                    file.display()
                )
            };
            Ok(Some(major.with_context(unread)?))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(error).with_context(|| format!("cannot read {}: check your rights", file.display()))
        }
    }
}

/// Refuses a cluster that these binaries cannot open; Postgres would too, in more words.
pub(super) fn check(folder: &Path, version: u32, binaries: &Binaries) -> anyhow::Result<()> {
    ensure!(
        version == binaries.major,
        "the data folder {} was made by Postgres {version}, but Postgres {} is installed: install Postgres {version}, or choose another data folder",
        folder.display(),
        binaries.major
    );
    Ok(())
}

/// Makes a cluster beside `folder` and moves it there, so that a crash halfway leaves none.
pub(super) fn create(
    folder: &Path,
    access: Access,
    binaries: &Binaries,
    identity: &Identity,
) -> anyhow::Result<()> {
    make_room(folder)?;
    let draft = beside(folder, "new");
    remove_if_there(&draft)?;
    identity.own_folder(&draft)?;
    identity.open_way_to(&draft)?;
    let mut command = identity.command(&binaries.program("initdb"));
    command
        .args(["-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
        .arg(&draft);
    let password = match access {
        Access::Trust => {
            command.args(["-A", "trust", "--no-sync"]);
            None
        }
        Access::Password => {
            let file = beside(folder, "once");
            identity.own_file(&file, &make_password(folder)?)?;
            command
                .args(["-A", "scram-sha-256"])
                .arg("--pwfile")
                .arg(&file);
            Some(file)
        }
    };
    let output = command
        .output()
        .context("cannot run initdb: run `./dev doctor`");
    if let Some(file) = password {
        remove_if_there(&file)?;
    }
    let output = output?;
    if !output.status.success() {
        bail!(explain(&String::from_utf8_lossy(&output.stderr), folder));
    }
    fs::rename(&draft, folder)
        .with_context(|| format!("cannot move the new cluster to {}", folder.display()))
}

/// An empty folder gives way; one with something else in it is not ours to replace.
fn make_room(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(_) => bail!(
            "the folder {} is not empty and holds no Postgres cluster: choose another data folder",
            folder.display()
        ),
    }
}

/// The superuser's password, from the file that stands beside the cluster.
pub(super) fn password(folder: &Path) -> anyhow::Result<String> {
    let file = beside(folder, "password");
    let text = fs::read_to_string(&file)
        .with_context(|| format!("cannot read the database's password from {}: restore that file, or choose another data folder", file.display()))?;
    Ok(text.trim().to_owned())
}

fn make_password(folder: &Path) -> anyhow::Result<String> {
    let mut bytes = [0; 24];
    OsRng
        .try_fill_bytes(&mut bytes)
        .context("the system has no randomness to give")?;
    let password = hex(&bytes);
    // Ours rather than Postgres's: it is the client who needs it again.
    own_secret(&beside(folder, "password"), &password)?;
    Ok(password)
}

fn own_secret(file: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    remove_if_there(file)?;
    let mut open = fs::OpenOptions::new();
    open.write(true).create_new(true).mode(0o600);
    let write = open.open(file).and_then(|mut file| {
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
    });
    write.with_context(|| {
        format!(
            "cannot write {}: check its disk and your rights",
            file.display()
        )
    })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `postgres` and `password` make `postgres.password`.
pub(super) fn beside(folder: &Path, suffix: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    folder.with_file_name(name)
}

/// Removes a file or a whole folder.
pub(super) fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error)
            .with_context(|| format!("cannot remove {}: check your rights", path.display())),
        _ => Ok(()),
    }
}

/// Turns what Postgres printed into one sentence that says what to do.
pub(super) fn explain(printed: &str, folder: &Path) -> String {
    let folder = folder.display();
    if printed.contains("No space left on device") {
        return format!("the disk that holds {folder} is full: free some space, then start again");
    }
    let told = printed.lines().rev().find_map(|line| {
        let (_, told) = line
            .split_once("FATAL:  ")
            .or_else(|| line.split_once("PANIC:  "))
            .or_else(|| line.split_once("error: "))?;
        Some(told)
    });
    let told = told
        .or_else(|| printed.lines().last())
        .unwrap_or("nothing was printed");
    format!(
        "Postgres in {folder} did not start ({told}): read server.log in that folder, or run `./dev doctor`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_as_such() {
        let told = explain(
            "initdb: error: could not write: No space left on device",
            Path::new("/data/postgres"),
        );

        assert_eq!(
            told,
            "the disk that holds /data/postgres is full: free some space, then start again"
        );
    }

    #[test]
    fn the_last_fatal_line_is_what_people_read() {
        let told = explain(
            "LOG:  starting\n2026 [1] FATAL:  could not map memory\nLOG:  bye",
            Path::new("/d"),
        );

        assert!(told.contains("(could not map memory)"), "{told}");
    }

    #[test]
    fn names_beside_the_cluster_keep_its_name() {
        assert_eq!(
            beside(Path::new("/data/postgres"), "password"),
            Path::new("/data/postgres.password")
        );
    }
}
