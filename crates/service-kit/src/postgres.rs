//! A private Postgres, started and stopped by code: for tests, and for `cambium up`.
//! Never touches a server it did not start, and installs nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::sys::signal::Signal;
use ring::hmac;
use sqlx::{AssertSqlSafe, PgPool};

use crate::config::{Env, Secret};

mod address;
mod binaries;
mod cluster;
mod guard;
mod identity;
mod server;

pub use address::Listen;

use address::Address;
use binaries::Binaries;
use cluster::Access;
use guard::Guard;
use identity::Identity;
use server::{Launch, Server};

const SUPERUSER: &str = "postgres";

/// What a private Postgres should be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster's own folder; what stands beside it under the same name (`.password`) belongs to it.
    pub folder: PathBuf,
    /// Whether data survives: stock settings, a password, and a folder that stays. Otherwise whatever is
    /// quickest, on trust, and a folder that goes with the server.
    pub durable: bool,
    pub listen: Listen,
}

/// A running server. Dropping it stops it: in order if it is durable, at once if not.
pub struct Private {
    // Dropped first: from here on it is we who stop the server.
    guard: Option<Guard>,
    server: Server,
    address: Address,
    binaries: Binaries,
    identity: Identity,
    password: Option<Secret>,
    options: Options,
}

impl Private {
    /// Starts the cluster in `folder`, making it if there is none, and waits until it answers. Blocks.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let folder = std::path::absolute(&options.folder)
            .context("the data folder's name cannot be resolved")?;
        let options = Options { folder, ..options };
        let identity = Identity::choose(&options.folder)?;
        let binaries = prepare(&options, &identity)?;
        identity.open_way_to(&options.folder)?;
        let password = match options.durable {
            true => Some(Secret::new(cluster::password(&options.folder)?)),
            false => None,
        };
        let (address, server) = listen(&options, &binaries, &identity)?;
        let mut private = Self {
            guard: None,
            server,
            address,
            binaries,
            identity,
            password,
            options,
        };
        private.watch()?;
        Ok(private)
    }

    /// Starts the server again, where it was, if it has died. Tells whether it had.
    pub fn revive(&mut self) -> anyhow::Result<bool> {
        if self.server.is_running() {
            return Ok(false);
        }
        self.guard = None;
        self.server = launch(&self.options, &self.address, &self.binaries, &self.identity)?;
        self.watch()?;
        Ok(true)
    }

    fn watch(&mut self) -> anyhow::Result<()> {
        let Options {
            folder, durable, ..
        } = &self.options;
        let guard = Guard::over(self.server.pid(), folder, *durable, &self.identity);
        self.guard = Some(guard.context("cannot run /bin/sh, which watches over Postgres")?);
        Ok(())
    }

    /// Where `user` reaches `database`. Holds the user's password, so it is a secret if the server is durable.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        let password = self.password_of(user);
        self.address.url(user, password.as_deref(), database)
    }

    #[must_use]
    pub fn superuser_url(&self, database: &str) -> String {
        self.url(SUPERUSER, database)
    }

    /// What `psql`, `pgbench` and their like need in their environment to be let in as the superuser.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = vec![
            ("PGHOST", self.address.host()),
            ("PGPORT", self.address.port.to_string()),
            ("PGUSER", SUPERUSER.to_owned()),
        ];
        environment.extend(
            self.password_of(SUPERUSER)
                .map(|password| ("PGPASSWORD", password)),
        );
        environment
    }

    /// Gives an existing login role the password that [`Private::url`] names. Without passwords there is nothing to do.
    pub async fn admit(&self, pool: &PgPool, role: &str) -> anyhow::Result<()> {
        let Some(password) = self.password_of(role) else {
            return Ok(());
        };
        let role = role.replace('"', "\"\"");
        let statement = format!("ALTER ROLE \"{role}\" PASSWORD '{password}'");
        let set = sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await;
        set.with_context(|| {
            format!("cannot set the password of role `{role}`: create the role first")
        })?;
        Ok(())
    }

    /// Each role has its own, derived from the superuser's: there is one secret to keep.
    fn password_of(&self, user: &str) -> Option<String> {
        let secret = self.password.as_ref()?.expose();
        if user == SUPERUSER {
            return Some(secret.to_owned());
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Some(cluster::hex(hmac::sign(&key, user.as_bytes()).as_ref()))
    }

    /// The postmaster's process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid().as_raw().unsigned_abs()
    }

    /// Where `psql`, `pgbench` and their like stand.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.binaries.folder
    }

    /// Stops the server and waits for its end, as dropping it does.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.guard = None;
        self.server.stop(if self.options.durable {
            Signal::SIGINT
        } else {
            Signal::SIGQUIT
        });
        self.address.remove();
        if !self.options.durable {
            let _ = cluster::remove_if_there(&self.options.folder);
        }
    }
}

// The password stays out.
impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Private")
            .field("options", &self.options)
            .field("pid", &self.pid())
            .finish_non_exhaustive()
    }
}

/// Finds the programs and makes sure that there is a cluster they can open.
fn prepare(options: &Options, identity: &Identity) -> anyhow::Result<Binaries> {
    let folder = &options.folder;
    let version = cluster::version(folder)?;
    let binaries = Binaries::find(Env::process().text("PG_BIN"), version)?;
    match version {
        Some(version) => cluster::check(folder, version, &binaries)?,
        None => {
            let access = if options.durable {
                Access::Password
            } else {
                Access::Trust
            };
            cluster::create(folder, access, &binaries, identity)?;
        }
    }
    Ok(binaries)
}

/// A port that was free a moment ago may be taken by now; then another is tried.
fn listen(
    options: &Options,
    binaries: &Binaries,
    identity: &Identity,
) -> anyhow::Result<(Address, Server)> {
    let mut tries_left = 5;
    loop {
        let address = Address::choose(options.listen, &options.folder, identity)?;
        tries_left -= 1;
        match launch(options, &address, binaries, identity) {
            Ok(server) => return Ok((address, server)),
            Err(error) => {
                address.remove();
                if tries_left == 0 || !server::is_port_taken(&error) {
                    return Err(error);
                }
            }
        }
    }
}

fn launch(
    options: &Options,
    address: &Address,
    binaries: &Binaries,
    identity: &Identity,
) -> anyhow::Result<Server> {
    let mut settings = address.settings();
    if !options.durable {
        settings.extend(QUICK.map(str::to_owned));
    }
    Server::start(&Launch {
        folder: &options.folder,
        settings: &settings,
        binaries,
        identity,
    })
}

/// What makes a server quick whose data nobody will miss, with room for many tests at once.
const QUICK: [&str; 6] = [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_connections=400",
];
