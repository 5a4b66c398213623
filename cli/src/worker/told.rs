//! What a worker is told from outside: by signals, and by whoever started it.

use cambium_service_kit::shutdown::{self, Stop};

use crate::context::hint;

/// First to drain, then to end at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) drain: Stop,
    pub(super) end: Stop,
}

impl Told {
    pub(super) fn listen(until_stdin_closes: bool) -> Self {
        let told = Self::default();
        if until_stdin_closes {
            let end = told.end.clone();
            // A thread of its own: the runtime would wait for a read that may never end.
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                end.stop();
            });
        }
        let heard = told.clone();
        tokio::spawn(async move {
            shutdown::signalled().await;
            hint("draining: finishing what is held; once more ends it at once");
            heard.drain.stop();
            shutdown::signalled().await;
            heard.end.stop();
        });
        told
    }
}
