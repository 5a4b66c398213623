//! Opens a mind, up to its first turn, in one command: the mind, what it is to remember, its share, its brake. Each step has a
//! request id that follows from what it asks, so that the same command typed again goes on where it failed.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cambium_client::{Connection, refusal};
use cambium_proto::swarm::v1::{
    Fresh, GetMindRequest, GetMindResponse, ImportPersonaRequest, Mind, OpenMindRequest,
    ReleaseBrakeRequest, SetShareRequest, Wakes,
};
use tonic::Code;

use crate::ask::ask;
use crate::context::{Context, hint, step_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::persona::told_report;
use crate::target::Aim;
use crate::{file, json, millionths};

/// What a mind is for, where nobody has said.
const MISSION: &str = "To be agreed with its operator.";

/// Open a mind: its brake is held until --release; typed again after a failure, it goes on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind open eureka --target body:desk --share 2 --release\n  cambium mind open weksa --mission 'Keep the house in order.' --fresh weksa.json --share 1\n  cambium mind open remnant --import remnant.json\n\nThe file of --fresh is JSON: {\"publicName\":…, \"publicDescription\":…, \"voiceSummary\":…}. That of --import is an older persona, in any form that `cambium persona preview` reads."
)]
pub(super) struct Open {
    /// Its name for ever: a-z, 0-9 and hyphens
    #[arg(value_name = "MIND")]
    mind: String,
    #[command(flatten)]
    aim: Aim,
    /// Its weight among the others, as in 2 or 0.5
    #[arg(long, value_name = "SHARE", value_parser = millionths::number)]
    share: Option<i64>,
    /// Let it have turns from now on
    #[arg(long)]
    release: bool,
    /// Who it is to be, of one that brings no persona
    #[arg(long, value_name = "FILE", conflicts_with = "import")]
    fresh: Option<PathBuf>,
    /// Who it was elsewhere
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// What wakes it [default: work]
    #[arg(long, value_enum)]
    wakes: Option<Waking>,
    /// What it is for [default: its proposal's]
    #[arg(long, value_name = "TEXT")]
    mission: Option<String>,
    /// What people call it [default: its proposal's, else its name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Where it lives, in a line
    #[arg(long, value_name = "TEXT", default_value = "here")]
    host: String,
}

/// What wakes a mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Waking {
    /// Only a reason: work, an answer, a date
    Work,
    Always,
}

impl From<Waking> for Wakes {
    fn from(waking: Waking) -> Self {
        match waking {
            Waking::Work => Self::Work,
            Waking::Always => Self::Always,
        }
    }
}

/// All steps, read and checked before the first is taken.
#[derive(Debug)]
struct Steps {
    open: OpenMindRequest,
    import: Option<ImportPersonaRequest>,
    share: Option<SetShareRequest>,
    release: Option<ReleaseBrakeRequest>,
}

pub(super) async fn open(args: Open, context: &Context) -> anyhow::Result<Exit> {
    let fresh = args.fresh.as_deref().map(read_fresh).transpose()?;
    let remnant = args.import.as_deref().map(file::read).transpose()?;
    let connection = context.connection().await?;
    let known = known(&connection, context, &args.mind).await?;
    if args.release && !args.aim.is_given() && known.target.is_none() {
        let say =
            "a mind without a target cannot be released: say with --target what carries its turns";
        return Err(Refusal::Usage(say.to_owned()).into());
    }
    let is_open = known.open_time.is_some();
    let steps = Steps::of(args, fresh, remnant, &known, &context.workspace());
    let instance = steps.open.instance.clone();
    let taken = steps.take(&connection, context).await;
    if taken.is_err() && is_open {
        hint(&format!(
            "{instance} is open already: change it with `cambium mind target`, `share` and `release`"
        ));
    }
    taken?;
    let reply = get(&connection, context, &instance).await?;
    context.print(&reply, |reply| {
        super::told(
            &reply.mind.clone().unwrap_or_default(),
            &context.globals.again(),
        )
    })?;
    Ok(Exit::Done)
}

fn read_fresh(path: &Path) -> anyhow::Result<Fresh> {
    let wrong = |problem: String| Refusal::File {
        path: path.to_owned(),
        problem,
    };
    let document = serde_json::from_slice(&file::read(path)?);
    let document = document.map_err(|error| wrong(format!("it is no JSON: {error}")))?;
    Ok(json::read(document).map_err(|error| wrong(format!("{error:#}")))?)
}

/// What is known of the name: a proposal, or the mind itself where this was typed before.
async fn known(connection: &Connection, context: &Context, name: &str) -> anyhow::Result<Mind> {
    match get(connection, context, name).await {
        Ok(reply) => Ok(reply.mind.unwrap_or_default()),
        Err(status) if status.code() == Code::NotFound && refusal::is(&status, "MIND_UNKNOWN") => {
            Ok(Mind::default())
        }
        Err(status) => Err(status.into()),
    }
}

pub(super) async fn get(
    connection: &Connection,
    context: &Context,
    name: &str,
) -> Result<GetMindResponse, tonic::Status> {
    let request = GetMindRequest {
        workspace_id: context.workspace(),
        instance: name.to_owned(),
    };
    ask!(connection, minds.get_mind(request))
}

impl Steps {
    fn of(
        args: Open,
        fresh: Option<Fresh>,
        remnant: Option<Vec<u8>>,
        known: &Mind,
        workspace: &str,
    ) -> Self {
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let title = args.title.or_else(|| said(&known.display_name));
        let mission = args.mission.or_else(|| said(&known.mission));
        let wakes = args.wakes.map(Wakes::from);
        let mut open = OpenMindRequest {
            workspace_id: workspace.to_owned(),
            request_id: String::new(),
            instance: args.mind.clone(),
            display_name: title.unwrap_or_else(|| args.mind.clone()),
            mission: mission.unwrap_or_else(|| MISSION.to_owned()),
            host: args.host,
            target: args.aim.target().or_else(|| known.target.clone()),
            wakes: wakes.unwrap_or_default().into(),
            fresh,
        };
        open.request_id = step_id("open", &open);
        Self {
            import: remnant.map(|bytes| {
                let mut import = ImportPersonaRequest {
                    workspace_id: workspace.to_owned(),
                    request_id: String::new(),
                    instance: args.mind.clone(),
                    bytes,
                };
                import.request_id = step_id("import", &import);
                import
            }),
            share: args.share.map(|share_ppm| {
                let mut share = SetShareRequest {
                    workspace_id: workspace.to_owned(),
                    request_id: String::new(),
                    instance: args.mind.clone(),
                    share_ppm,
                };
                share.request_id = step_id("share", &share);
                share
            }),
            release: args.release.then(|| {
                let mut release = ReleaseBrakeRequest {
                    workspace_id: workspace.to_owned(),
                    request_id: String::new(),
                    instance: args.mind,
                };
                release.request_id = step_id("release", &release);
                release
            }),
            open,
        }
    }

    /// One after the other; what was done stays done when the next is refused.
    async fn take(self, connection: &Connection, context: &Context) -> anyhow::Result<()> {
        ask!(connection, minds.open_mind(self.open.clone())).context("the mind is not opened")?;
        if let Some(import) = self.import {
            let reply = ask!(connection, personas.import_persona(import.clone()));
            let reply = reply.context("the mind is open, and its persona is not imported")?;
            if !context.globals.json {
                hint(&told_report(&reply.report));
            }
        }
        if let Some(share) = self.share {
            let reply = ask!(connection, control.set_share(share.clone()));
            let reply = reply.context("the mind is open, and has no share yet")?;
            reply
                .warnings
                .iter()
                .for_each(|warning| hint(&format!("warning: {}", warning.text)));
        }
        if let Some(release) = self.release {
            let reply = ask!(connection, control.release_brake(release.clone()));
            reply.context("the mind is open, and its brake is held")?;
        }
        Ok(())
    }
}
