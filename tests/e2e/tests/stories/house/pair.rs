//! Two schedulers of minds as processes on one database, with nobody else: each can be killed and brought back. Ends with whoever holds it.

use std::collections::BTreeMap;
use std::time::Duration;

use cambium_client::Connection;
use cambium_proto::swarm::v1::GetTimelineRequest;
use cambium_service_kit::postgres::Private;
use cambium_testkit::{Keys, wait_until};
use sqlx::PgPool;
use tempfile::TempDir;

use super::ground::{furnish, settings, start_postgres};
use super::open;
use super::replica::Replica;

const SWARM: &str = "swarm";

pub(crate) struct Pair {
    // Dropped in this order: the replicas before what they stand on.
    replicas: [Replica; 2],
    pub(crate) books: PgPool,
    postgres: Private,
    pub(crate) keys: Keys,
    _folder: TempDir,
}

impl Pair {
    pub(crate) async fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let keys = Keys::new();
        let bundle = furnish(&folder, &keys, &[SWARM]);
        let (postgres, books) = start_postgres(&folder, false, &[SWARM]).await;
        let mut replicas = [0, 1].map(|number| Replica::new(SWARM, number, folder.path()));
        for replica in &mut replicas {
            let mut own = settings(SWARM, &folder, &postgres, &BTreeMap::new());
            own.push(("CAMBIUM_BUNDLE".to_owned(), bundle.clone()));
            replica.settle(own);
        }
        let mut pair = Self {
            replicas,
            books,
            postgres,
            keys,
            _folder: folder,
        };
        for number in 0..2 {
            pair.launch_unseen(number);
            pair.until_it_answers(number).await;
        }
        pair
    }

    async fn until_it_answers(&mut self, number: usize) {
        let door = self.door(number, &self.keys.operator());
        let replica = &mut self.replicas[number];
        wait_until(Duration::from_secs(30), "a scheduler answers", async || {
            replica.must_run();
            let request = GetTimelineRequest {
                workspace_id: "default".to_owned(),
            };
            door.timeline().get_timeline(request).await.is_ok()
        })
        .await;
    }

    /// Starts it where it was, and waits for nothing.
    pub(crate) fn launch_unseen(&mut self, number: usize) {
        self.replicas[number].start();
    }

    /// As a crash would.
    pub(crate) async fn kill(&mut self, number: usize) {
        self.replicas[number].must_run();
        self.replicas[number].kill().await;
    }

    pub(crate) fn url(&self, number: usize) -> String {
        self.replicas[number].url()
    }

    pub(crate) fn door(&self, number: usize, token: &str) -> Connection {
        open(&self.replicas[number].url(), token)
    }

    /// Where the oracle reads.
    pub(crate) fn database_url(&self) -> String {
        self.postgres.superuser_url("postgres")
    }
}
