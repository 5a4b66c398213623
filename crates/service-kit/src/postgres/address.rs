//! Where the server listens: a Unix socket in a folder of its own, or a free port of the loopback.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rand::Rng;

use super::cluster;
use super::identity::Identity;

/// The system's limit on a socket's path is 107 bytes; `.s.PGSQL.5432` and what Postgres adds want some of them.
const LONGEST_FOLDER: usize = 85;
const SOCKET_PORT: u16 = 5432;

/// How clients reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Only through the file system.
    Socket,
    /// Through the file system and 127.0.0.1.
    Loopback,
}

#[derive(Debug)]
pub(super) struct Address {
    pub(super) listen: Listen,
    pub(super) port: u16,
    socket_folder: PathBuf,
    is_borrowed: bool,
}

impl Address {
    pub(super) fn choose(
        listen: Listen,
        folder: &Path,
        identity: &Identity,
    ) -> anyhow::Result<Self> {
        let port = match listen {
            Listen::Socket => SOCKET_PORT,
            Listen::Loopback => free_port()?,
        };
        let is_borrowed = folder.as_os_str().len() > LONGEST_FOLDER;
        let socket_folder = if is_borrowed {
            short_folder(identity)?
        } else {
            folder.to_owned()
        };
        Ok(Self {
            listen,
            port,
            socket_folder,
            is_borrowed,
        })
    }

    /// Server settings that make it listen here and nowhere else.
    pub(super) fn settings(&self) -> Vec<String> {
        let addresses = match self.listen {
            Listen::Socket => "",
            Listen::Loopback => "127.0.0.1",
        };
        let socket_folder = self.socket_folder.to_string_lossy();
        vec![
            format!("listen_addresses={addresses}"),
            format!("port={}", self.port),
            // A list, so a name with a comma wants quotes.
            format!(
                "unix_socket_directories=\"{}\"",
                socket_folder.replace('"', "\"\"")
            ),
            "unix_socket_permissions=0700".to_owned(),
        ]
    }

    /// Where the server's own programs find it.
    pub(super) fn host(&self) -> String {
        self.socket_folder.to_string_lossy().into_owned()
    }

    pub(super) fn url(&self, user: &str, password: Option<&str>, database: &str) -> String {
        let password = password
            .map(|password| format!(":{}", encode(password)))
            .unwrap_or_default();
        let (user, database, port) = (encode(user), encode(database), self.port);
        match self.listen {
            Listen::Socket => {
                let socket = encode(&self.socket_folder.to_string_lossy());
                format!("postgres://{user}{password}@localhost:{port}/{database}?host={socket}")
            }
            Listen::Loopback => {
                format!("postgres://{user}{password}@127.0.0.1:{port}/{database}?sslmode=disable")
            }
        }
    }

    pub(super) fn remove(&self) {
        if self.is_borrowed {
            let _ = cluster::remove_if_there(&self.socket_folder);
        }
    }
}

/// A folder with a name that nobody can have made before us.
fn short_folder(identity: &Identity) -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("cambium-{:016x}", rand::rng().random::<u64>()));
    std::fs::create_dir(&folder).with_context(|| {
        format!(
            "cannot make the folder {} for a socket: check its disk and your rights",
            folder.display()
        )
    })?;
    identity.own_folder(&folder)?;
    Ok(folder)
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .context("the loopback has no free port: end what uses them")?;
    Ok(listener.local_addr()?.port())
}

/// Percent-encodes whatever is not plain.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_a_url() {
        assert_eq!(encode("a/b@c é"), "a%2Fb%40c%20%C3%A9");
    }
}
