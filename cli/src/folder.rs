//! The data folder of `cambium up`: where everything in it stands, and how it is made. What is in it is the operator's
//! alone (0700, files 0600).

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use cambium_service_kit::config::Env;
use cambium_service_kit::token::{Bundle, Issuer, SigningKey};
use serde::{Deserialize, Serialize};

/// The form of the folder that this program reads and writes.
const FORMAT: &str = "1";

/// Who signs what in this folder: file, issuer.
const KEYS: [(&str, Issuer); 10] = [
    ("operator", Issuer::Operator),
    ("enrolment", Issuer::Enrolment),
    ("hypha", Issuer::Hypha),
    ("genesis", Issuer::Genesis),
    ("swarm", Issuer::Swarm),
    ("hypha-service", Issuer::Service),
    ("genesis-service", Issuer::Service),
    ("immune-service", Issuer::Service),
    ("stigmergy-service", Issuer::Service),
    ("swarm-service", Issuer::Service),
];

/// Where a running `up` is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) pid: u32,
    pub(crate) port: u16,
    pub(crate) admin_port: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// `$XDG_DATA_HOME/cambium`, else `~/.local/share/cambium`.
    pub(crate) fn default_of(env: &Env) -> Self {
        let home = || {
            env.text("HOME")
                .map(|home| PathBuf::from(home).join(".local/share"))
        };
        let data = env.text("XDG_DATA_HOME").map(PathBuf::from).or_else(home);
        Self(
            data.unwrap_or_else(|| PathBuf::from("/tmp"))
                .join("cambium"),
        )
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.key"))
    }

    pub(crate) fn bundle(&self) -> PathBuf {
        self.0.join("bundle.json")
    }

    pub(crate) fn postgres(&self) -> PathBuf {
        self.0.join("postgres")
    }

    /// Where the token of an enrolled agent's worker is kept.
    pub(crate) fn agent_token(&self, agent: &str) -> PathBuf {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        self.0
            .join("agents")
            .join(format!("{}.token", agent.replace(|c| plain(c) != c, "_")))
    }

    /// Where the `up` that uses this folder is reached; `None` if none runs.
    pub(crate) fn address(&self) -> Option<Address> {
        let text = fs::read(self.0.join("address.json")).ok()?;
        let address: Address = serde_json::from_slice(&text).ok()?;
        let pid = nix::unistd::Pid::from_raw(i32::try_from(address.pid).ok()?);
        // EPERM says that it lives, under somebody else.
        let lives = !matches!(
            nix::sys::signal::kill(pid, None),
            Err(nix::errno::Errno::ESRCH)
        );
        lives.then_some(address)
    }

    pub(crate) fn write_address(&self, address: &Address) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(address)?;
        write_private(&self.0.join("address.json"), &format!("{text}\n"))
    }

    pub(crate) fn forget_address(&self) {
        let _ = fs::remove_file(self.0.join("address.json"));
        let _ = fs::remove_file(self.0.join("database.url"));
    }

    /// Where the running `up` has its database, with the superuser's password: for the oracle, which reads every schema.
    pub(crate) fn database_url(&self) -> Option<String> {
        let text = fs::read_to_string(self.0.join("database.url")).ok()?;
        Some(text.trim().to_owned())
    }

    pub(crate) fn write_database_url(&self, url: &str) -> anyhow::Result<()> {
        write_private(&self.0.join("database.url"), &format!("{url}\n"))
    }

    /// Makes the folder with its keys, if it is not there, and keeps others from using it while the guard lives.
    pub(crate) fn open(&self) -> anyhow::Result<Guard> {
        make_private(&self.0)?;
        let guard = self.lock()?;
        self.check_format()?;
        self.make_keys()?;
        Ok(guard)
    }

    fn lock(&self) -> anyhow::Result<Guard> {
        let path = self.0.join("lock");
        let file = private_file(&path).with_context(|| unwritable(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Guard(file)),
            Err(TryLockError::WouldBlock) => bail!(
                "another `cambium up` uses {}: stop it, or name another folder with --data",
                self.0.display()
            ),
            Err(TryLockError::Error(error)) => Err(error).with_context(|| unwritable(&path)),
        }
    }

    fn check_format(&self) -> anyhow::Result<()> {
        let path = self.0.join("format");
        match fs::read_to_string(&path) {
            Ok(found) if found.trim() == FORMAT => Ok(()),
            Ok(found) => bail!(
                "{} was written by another version of cambium (format {}, this one reads {FORMAT}): use that version, or name another folder with --data",
                self.0.display(),
                found.trim()
            ),
            Err(_) => write_private(&path, &format!("{FORMAT}\n")),
        }
    }

    /// Keys are made once; the bundle always says what the keys are.
    fn make_keys(&self) -> anyhow::Result<()> {
        let mut bundle = Bundle::default();
        for (name, issuer) in KEYS {
            let path = self.key(name);
            let key = if path.exists() {
                SigningKey::load(&path)?
            } else {
                let key = SigningKey::generate(&format!("{name}-1"), issuer)?;
                key.save(&path)?;
                key
            };
            bundle = bundle.with(key.public());
        }
        bundle.save(&self.bundle())?;
        Ok(())
    }
}

/// Keeps a data folder for this process.
#[derive(Debug)]
pub(crate) struct Guard(#[expect(dead_code, reason = "holding it holds the lock")] File);

/// Makes a folder for its owner's eyes only.
pub(crate) fn make_private(path: &Path) -> anyhow::Result<()> {
    let make = || {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let mode = fs::metadata(path)?.permissions().mode();
        // Postgres' own user may be let through, as where root starts it; nobody may read.
        if mode & 0o067 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
        Ok::<_, std::io::Error>(())
    };
    make().with_context(|| unwritable(path))
}

/// Writes a file for its owner's eyes only, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let fresh = path.with_extension("new");
    let write = || {
        let mut file = private_file(&fresh)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().with_context(|| unwritable(path))
}

fn private_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn unwritable(path: &Path) -> String {
    format!(
        "cannot write {}: check that it is yours and that the disk is not full",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_folder_is_the_owners_alone_and_has_every_key() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(parent.path().join("data"));

        let _guard = folder.open().unwrap();

        assert_eq!(mode(folder.path()), 0o700);
        for (name, _) in KEYS {
            assert_eq!(mode(&folder.key(name)), 0o600, "{name}");
        }
        assert_eq!(
            Bundle::load(&folder.bundle()).unwrap().keys().len(),
            KEYS.len()
        );
    }

    #[test]
    fn a_folder_that_others_may_read_is_closed() {
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).unwrap();

        let _guard = Folder::at(parent.path()).open().unwrap();

        assert_eq!(mode(parent.path()), 0o700);
    }

    #[test]
    fn keys_are_made_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(parent.path());
        drop(folder.open().unwrap());
        let first = fs::read(folder.key("operator")).unwrap();

        drop(folder.open().unwrap());

        assert_eq!(fs::read(folder.key("operator")).unwrap(), first);
    }

    #[test]
    fn a_folder_is_used_by_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(parent.path());
        let _guard = folder.open().unwrap();

        let refusal = folder.open().unwrap_err().to_string();

        assert!(
            refusal.starts_with("another `cambium up` uses"),
            "{refusal}"
        );
    }

    #[test]
    fn a_folder_of_another_version_is_refused_and_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("format"), "7\n").unwrap();
        let folder = Folder::at(parent.path());

        let refusal = folder.open().unwrap_err().to_string();

        assert!(refusal.contains("format 7, this one reads 1"), "{refusal}");
        assert!(!folder.key("operator").exists());
    }

    #[test]
    fn an_address_counts_while_its_process_lives() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(parent.path());
        let own = Address {
            url: "http://127.0.0.1:1".to_owned(),
            pid: std::process::id(),
            port: 1,
            admin_port: 2,
        };

        folder.write_address(&own).unwrap();
        assert_eq!(folder.address(), Some(own.clone()));
        let dead = Address {
            pid: 0x7fff_fff0,
            ..own
        };
        folder.write_address(&dead).unwrap();

        assert_eq!(folder.address(), None);
    }

    #[test]
    fn the_default_folder_follows_the_desktop_rules() {
        let env = |pairs: &[(&str, &str)]| {
            Env::of(
                pairs
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            )
        };

        let by_home = Folder::default_of(&env(&[("HOME", "/h")]));
        let by_xdg = Folder::default_of(&env(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]));

        assert_eq!(by_home.path(), Path::new("/h/.local/share/cambium"));
        assert_eq!(by_xdg.path(), Path::new("/x/cambium"));
    }
}
