//! The server under all databases of a test run. Dropped by nobody: its guard ends it with this process.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use cambium_service_kit::config::Env;
use cambium_service_kit::postgres::{Listen, Options, Private};
use nix::sys::statvfs::statvfs;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::OnceCell;
use uuid::Uuid;

static SERVER: OnceCell<Server> = OnceCell::const_new();

#[derive(Debug)]
pub(crate) struct Server {
    superuser: PgConnectOptions,
    private: Option<Private>,
}

impl Server {
    /// The one of the test run, if it has one, else this process's own.
    pub(crate) async fn shared() -> &'static Self {
        SERVER.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        if let Some(url) = Env::process().text("CAMBIUM_TEST_POSTGRES") {
            let superuser = PgConnectOptions::from_str(&url);
            return Self {
                superuser: superuser.expect("CAMBIUM_TEST_POSTGRES holds a URL"),
                private: None,
            };
        }
        let private = tokio::task::spawn_blocking(start_private)
            .await
            .expect("a start does not panic");
        let private = private.expect("a private Postgres starts");
        let superuser = PgConnectOptions::from_str(&private.superuser_url("postgres"));
        Self {
            superuser: superuser.expect("our own URL is one"),
            private: Some(private),
        }
    }

    /// Whether other processes use it, so that what is left behind adds up.
    pub(crate) fn is_of_the_run(&self) -> bool {
        self.private.is_none()
    }

    pub(crate) fn at(&self, database: &str) -> PgConnectOptions {
        self.superuser.clone().database(database)
    }

    /// A connection of the superuser to the database where databases are made.
    pub(crate) async fn connect(&self) -> PgConnection {
        let connect = PgConnection::connect_with(&self.superuser).await;
        connect.expect("the test run's Postgres answers")
    }

    /// A small pool of the superuser.
    pub(crate) fn pool(&self, database: &str, max: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max)
            .connect_lazy_with(self.at(database))
    }
}

/// Below this, memory is not where a test run's databases should be.
const ROOM: u64 = 2 << 30;

/// In memory where the system offers enough of it: making a cluster is mostly writing files.
fn quickest_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match statvfs(memory) {
        Ok(stat) if stat.blocks_available() * stat.fragment_size() >= ROOM => memory.to_owned(),
        Ok(_) | Err(_) => std::env::temp_dir(),
    }
}

fn start_private() -> anyhow::Result<Private> {
    let folder = quickest_folder().join(format!("cambium-test-{}", Uuid::new_v4().simple()));
    Private::start(Options {
        folder,
        durable: false,
        listen: Listen::Loopback,
    })
}
