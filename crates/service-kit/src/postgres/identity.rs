//! As whom Postgres runs: it refuses root, so root hands its folder to another user.
//! Opens no folder that belongs to somebody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use nix::unistd::{Gid, Uid, User};

/// Whoever runs us, or for root the user to run as instead.
#[derive(Clone, Debug)]
pub(super) struct Identity(Option<User>);

impl Identity {
    /// A cluster that exists stays its owner's.
    pub(super) fn choose(folder: &Path) -> anyhow::Result<Self> {
        if !Uid::effective().is_root() {
            return Ok(Self(None));
        }
        if let Ok(meta) = fs::metadata(folder.join("PG_VERSION"))
            && meta.uid() != 0
            && let Some(owner) = User::from_uid(Uid::from_raw(meta.uid()))?
        {
            return Ok(Self(Some(owner)));
        }
        for name in ["postgres", "nobody"] {
            if let Some(user) = User::from_name(name)? {
                return Ok(Self(Some(user)));
            }
        }
        bail!(
            "Postgres refuses to run as root and there is no user `postgres` or `nobody`: run as an ordinary user"
        )
    }

    /// A command with none of our environment: neither secrets nor `PGPORT` and its like reach Postgres.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LC_ALL", "C")
            .current_dir("/");
        if let Some(user) = &self.0 {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    /// Makes a folder, its missing parents too, that only this user can enter.
    pub(super) fn own_folder(&self, folder: &Path) -> anyhow::Result<()> {
        let unmade = || {
            format!(
                "cannot make the folder {}: check its disk and your rights",
                folder.display()
            )
        };
        fs::create_dir_all(folder).with_context(unmade)?;
        self.own(folder, 0o700).with_context(unmade)
    }

    /// Writes a file that only this user can read.
    pub(super) fn own_file(&self, file: &Path, text: &str) -> anyhow::Result<()> {
        let unmade = || {
            format!(
                "cannot write {}: check its disk and your rights",
                file.display()
            )
        };
        fs::write(file, "").with_context(unmade)?;
        self.own(file, 0o600).with_context(unmade)?;
        fs::write(file, text).with_context(unmade)
    }

    fn own(&self, path: &Path, mode: u32) -> anyhow::Result<()> {
        if let Some(user) = &self.0 {
            nix::unistd::chown(path, Some(user.uid), Some(user.gid))?;
        }
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        Ok(())
    }

    /// Makes sure that this user can reach `folder`. The folder around it, if it is ours alone, is opened
    /// to the user's group for passing, not for reading; any other closed folder on the way is refused.
    pub(super) fn open_way_to(&self, folder: &Path) -> anyhow::Result<()> {
        let Some(user) = &self.0 else { return Ok(()) };
        for (steps, above) in folder.ancestors().skip(1).enumerate() {
            let Ok(meta) = fs::metadata(above) else {
                continue;
            };
            if may_pass(user, &meta) {
                continue;
            }
            if steps == 0 && meta.uid() == Uid::effective().as_raw() && meta.mode() & 0o070 == 0 {
                nix::unistd::chown(above, None, Some(Gid::from_raw(user.gid.as_raw())))?;
                fs::set_permissions(above, Permissions::from_mode(meta.mode() & 0o7777 | 0o010))?;
                continue;
            }
            bail!(
                "root runs Postgres as user `{}`, who cannot enter {}: choose a data folder elsewhere, such as below /var/lib, or run as an ordinary user",
                user.name,
                above.display()
            );
        }
        Ok(())
    }
}

fn may_pass(user: &User, meta: &fs::Metadata) -> bool {
    let bit = if meta.uid() == user.uid.as_raw() {
        0o100
    } else if meta.gid() == user.gid.as_raw() {
        0o010
    } else {
        0o001
    };
    meta.mode() & bit != 0
}
