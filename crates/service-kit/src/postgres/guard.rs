//! Stops the server when this process dies without a word: killed, or ended with the server in a static.
//! Touches no other server: it looks for the one process it was told of.

use std::io;
use std::path::Path;
use std::process::{Child, Stdio};

use nix::unistd::Pid;

use super::identity::Identity;

/// Waits for our end of its input to close; only the system can tell it so reliably.
const STOP: &str = r#"
read -r _
[ "$(head -n 1 "$2/postmaster.pid" 2>/dev/null)" = "$1" ] && kill -"$3" "$1"
[ "$4" = keep ] && exit
tries=0
while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
rm -rf "$2"
"#;

#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Watches over the server `pid` in `folder`, which stays if the cluster is `durable`.
    pub(super) fn over(
        pid: Pid,
        folder: &Path,
        durable: bool,
        identity: &Identity,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let (signal, after) = if durable {
            ("INT", "keep")
        } else {
            ("QUIT", "remove")
        };
        let mut command = identity.command(Path::new("/bin/sh"));
        command
            .args(["-c", STOP, "sh", &pid.to_string()])
            .arg(folder)
            .args([signal, after]);
        // Whoever waits for our output or signals our group must not wait for, or hit, the guard.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
