//! An operator's own work with a mind: opens a session, runs a program that acts as the mind, and closes the session however
//! that ends. The program never sees the operator's credentials; the mind's token is renewed while the program runs.

mod child;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use cambium_client::{Connection, refusal};
use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::swarm::v1::{
    CloseSessionRequest, CloseSessionResponse, GetControlRequest, MintMindTokenRequest,
    MintMindTokenResponse, OperateMindRequest, Organ, Session,
};
use chrono::{DateTime, TimeDelta};
use tempfile::TempDir;
use tonic::Status;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::folder::write_private;
use crate::table::moment;
use crate::target::Part;
use crate::{clock, shell};
use child::{Child, Signals};

/// Between two tries to renew a token.
const AGAIN: Duration = Duration::from_secs(30);

/// Work as a mind: a shell, or a program, with the mind's token until it ends
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind operate eureka\n  cambium mind operate eureka --preempt --ttl 30m -- cambium rest --for 2h\n\nInside it `cambium rest`, `lend`, `agenda`, `rule`, `question`, `cite`, `hand-off`, `retire-request`, `persona put`, `work return` and `work complete` act as the mind. The program finds CAMBIUM_MIND, CAMBIUM_SERVER, CAMBIUM_WORKSPACE, CAMBIUM_SESSION_ID, and the mind's token in CAMBIUM_TOKEN and, renewed while the session lives, in the file that CAMBIUM_TOKEN_FILE names.\n\nThe session costs nothing and takes no slot; meanwhile the mind has no turn. Standard output is the program's alone. Exit 1 if the program fails."
)]
pub(super) struct Operate {
    #[arg(value_name = "MIND")]
    mind: String,
    /// Meanwhile no new turn of any mind starts
    #[arg(long)]
    preempt: bool,
    /// How long the session lives at most, as in 30m or 4h; up to 12h
    #[arg(long, value_name = "TIME", default_value = "4h", value_parser = clock::span)]
    ttl: TimeDelta,
    /// As which half of the mind to act [default: persona]
    #[arg(long, value_name = "ORGAN", value_enum)]
    organ: Option<Part>,
    /// A program and its arguments, instead of a shell
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

pub(super) async fn operate(args: Operate, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    // From here on no signal ends this program before the session is closed.
    let signals = Signals::listen()?;
    let request = OperateMindRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind.clone(),
        preempt: args.preempt,
        ttl_s: Some(args.ttl.num_seconds()),
    };
    let reply = ask!(connection, control.operate_mind(request))?;
    let session = reply
        .session
        .context("the service's reply holds no session")?;
    let held = Held {
        connection,
        workspace: context.workspace(),
        session,
        organ: args.organ.map(Organ::from).unwrap_or_default(),
    };
    let worked = work(&held, &args, context, signals).await;
    let closed = close_session(&held.connection, &held.workspace, &held.session.session_id).await;
    let code = worked?;
    closed.context("the session is not closed: it ends by itself")?;
    hint(&format!("the session with {} is closed", args.mind));
    Ok(match code {
        Some(0) => Exit::Done,
        _ => Exit::Failed,
    })
}

/// A session that is open.
struct Held {
    connection: Connection,
    workspace: String,
    session: Session,
    organ: Organ,
}

/// Runs the program to its end, and answers its exit code.
async fn work(
    held: &Held,
    args: &Operate,
    context: &Context,
    mut signals: Signals,
) -> anyhow::Result<Option<i32>> {
    let token = Token::first(held).await?;
    let variables = [
        ("CAMBIUM_MIND", args.mind.clone()),
        ("CAMBIUM_SERVER", context.place()?.url),
        ("CAMBIUM_WORKSPACE", held.workspace.clone()),
        ("CAMBIUM_SESSION_ID", held.session.session_id.clone()),
        ("CAMBIUM_TOKEN", token.text.clone()),
        ("CAMBIUM_TOKEN_FILE", token.path().display().to_string()),
    ];
    let shell = || vec![context.shell()];
    let words = Some(args.program.clone()).filter(|words| !words.is_empty());
    hint(&format!(
        "you act as {} until {}{}",
        args.mind,
        moment(held.session.until.as_ref()),
        if words.is_none() {
            "; `exit` ends it"
        } else {
            ""
        },
    ));
    let mut child = Child::start(&words.unwrap_or_else(shell), &variables)?;
    tokio::select! {
        ended = child.ends(&mut signals) => ended,
        never = token.keep(held) => match never {},
    }
}

/// The mind's token, in a file of its owner's eyes only that goes with this.
struct Token {
    folder: TempDir,
    text: String,
    renew_in: Duration,
}

impl Token {
    async fn first(held: &Held) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cambium-mind-").tempdir();
        let reply = held.mint().await?;
        let token = Self {
            folder: folder.context("no temporary folder can be made")?,
            renew_in: half_of(&reply),
            text: reply.token,
        };
        write_private(&token.path(), &token.text)?;
        Ok(token)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// Writes a new one well before the last one ends, for ever.
    async fn keep(&self, held: &Held) -> std::convert::Infallible {
        let mut wait = self.renew_in;
        loop {
            tokio::time::sleep(wait).await;
            wait = match held.mint().await {
                Ok(reply) => self.renew(&reply),
                Err(status) if refusal::is(&status, "TURN_LOST") => {
                    hint("the session is over: what the mind writes from now on is refused");
                    std::future::pending().await
                }
                Err(status) => {
                    hint(&format!(
                        "the mind's token is not renewed: {}",
                        status.message()
                    ));
                    AGAIN
                }
            };
        }
    }

    fn renew(&self, reply: &MintMindTokenResponse) -> Duration {
        match write_private(&self.path(), &reply.token) {
            Ok(()) => half_of(reply),
            Err(error) => {
                hint(&format!("the mind's token is not renewed: {error:#}"));
                AGAIN
            }
        }
    }
}

impl Held {
    async fn mint(&self) -> Result<MintMindTokenResponse, Status> {
        let request = MintMindTokenRequest {
            workspace_id: self.workspace.clone(),
            session_id: self.session.session_id.clone(),
            organ: self.organ.into(),
            ..MintMindTokenRequest::default()
        };
        ask!(self.connection, timeline.mint_mind_token(request))
    }
}

/// Half of what a token has to live; often enough where that is short or not known.
fn half_of(reply: &MintMindTokenResponse) -> Duration {
    let end = reply.expire_time.as_ref();
    let end = end.and_then(|at| DateTime::from_timestamp(at.seconds, 0));
    let left = end.map(|end| end - SystemClock.now());
    let left = left.and_then(|left| left.to_std().ok()).unwrap_or_default();
    (left / 2).max(AGAIN)
}

async fn close_session(
    connection: &Connection,
    workspace: &str,
    session_id: &str,
) -> Result<CloseSessionResponse, Status> {
    let request = CloseSessionRequest {
        workspace_id: workspace.to_owned(),
        request_id: request_id(),
        session_id: session_id.to_owned(),
    };
    ask!(connection, control.close_session(request))
}

/// Close the session with a mind that somebody left open
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mind close eureka")]
pub(super) struct Close {
    #[arg(value_name = "MIND")]
    mind: String,
}

pub(super) async fn close(args: Close, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = GetControlRequest {
        workspace_id: context.workspace(),
    };
    let reply = ask!(connection, control.get_control(request))?;
    let mut sessions = reply.sessions.into_iter();
    let session = sessions.find(|one| one.instance == args.mind && one.close_time.is_none());
    let session = session.ok_or_else(|| {
        let text = format!("no session with {} is open", shell::word(&args.mind));
        Refusal::Unknown(text, "cambium control")
    })?;
    let reply = close_session(&connection, &context.workspace(), &session.session_id).await?;
    context.print(&reply, |_| {
        format!("the session with {} is closed", args.mind)
    })?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_when_half_of_its_life_is_left() {
        let living = |seconds| MintMindTokenResponse {
            expire_time: Some(clock::timestamp(
                SystemClock.now() + TimeDelta::seconds(seconds),
            )),
            ..MintMindTokenResponse::default()
        };

        let half = half_of(&living(3_600)).as_secs();

        assert!((1_790..=1_800).contains(&half), "{half}");
        assert_eq!(half_of(&living(-5)), AGAIN);
        assert_eq!(half_of(&MintMindTokenResponse::default()), AGAIN);
    }
}
