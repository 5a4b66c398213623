//! `cambium templates`: what agents are made from.

use std::path::{Path, PathBuf};

use cambium_client::Authorized;
use cambium_client::Connection;
use cambium_proto::genesis::v1::template_service_client::TemplateServiceClient;
use cambium_proto::genesis::v1::{
    ExportTemplateRequest, GetTemplateRequest, ImportTemplateRequest, ImportTemplateResponse,
    ListTemplatesRequest, ListVersionsRequest, Template,
};
use clap::Subcommand;
use tonic::Code;

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::file;
use crate::table::{moment, table};

/// Store, show, export and import templates
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium templates put writer.yaml\n  cambium templates list")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List templates by name
    #[command(after_help = "Example:\n  cambium templates list --json")]
    List(Page),
    /// Store a template from its YAML; a change is a new version
    #[command(after_help = "Example:\n  cambium templates put writer.yaml")]
    Put(File),
    /// Show one template
    #[command(after_help = "Example:\n  cambium templates show writer --version 1")]
    Show(Named),
    /// List the versions of a template, the newest first
    #[command(after_help = "Example:\n  cambium templates versions writer")]
    Versions {
        name: String,
        #[command(flatten)]
        page: Page,
    },
    /// Print a template as YAML
    #[command(after_help = "Example:\n  cambium templates export writer > writer.yaml")]
    Export(Named),
    /// Store what was exported elsewhere; refuses to change a template that is there
    #[command(after_help = "Example:\n  cambium templates import writer.yaml --name my-writer")]
    Import(File),
}

#[derive(Debug, clap::Args)]
struct Page {
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

#[derive(Debug, clap::Args)]
struct File {
    /// A template's YAML; `-` reads standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Call the template this [default: as the file says]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    name: String,
}

#[derive(Debug, clap::Args)]
struct Named {
    name: String,
    /// [default: the current one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    version: i32,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let at = At {
        context,
        connection: &connection,
    };
    match args.verb {
        Verb::List(page) => at.list(page).await?,
        Verb::Put(file) => at.put(&file).await?,
        Verb::Show(named) => at.show(named).await?,
        Verb::Versions { name, page } => at.versions(name, page).await?,
        Verb::Export(named) => at.export(named).await?,
        Verb::Import(file) => {
            let reply = at.import(&read(&file.path)?, &file.name, 0).await?;
            at.stored(&reply)?;
        }
    }
    Ok(Exit::Done)
}

/// The text of a file.
fn read(path: &Path) -> anyhow::Result<String> {
    let text = String::from_utf8(file::read(path)?);
    let text = text.map_err(|error| Refusal::File {
        path: path.to_owned(),
        problem: error.to_string(),
    })?;
    Ok(text)
}

/// Where a command speaks.
struct At<'a> {
    context: &'a Context,
    connection: &'a Connection,
}

impl At<'_> {
    fn templates(&self) -> TemplateServiceClient<Authorized> {
        TemplateServiceClient::new(self.connection.authorized())
    }

    async fn list(&self, page: Page) -> anyhow::Result<()> {
        let request = ListTemplatesRequest {
            workspace_id: self.context.workspace(),
            page_size: page.page_size,
            page_token: page.page_token,
        };
        let reply = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.list_templates(request).await }
        });
        let reply = reply.await?;
        self.more("list", &reply.next_page_token);
        self.context.print(&reply, |reply| {
            let rows = reply.templates.iter().map(|template| {
                let spec = template.spec.clone().unwrap_or_default();
                let [version, live, learnings] =
                    [template.version, template.live_agents, template.learnings]
                        .map(|number| number.to_string());
                [
                    template.name.clone(),
                    version,
                    spec.role,
                    live,
                    learnings,
                    spec.capabilities.join(", "),
                ]
            });
            let head = [
                "name",
                "version",
                "role",
                "live",
                "learnings",
                "capabilities",
            ];
            table(head, rows)
        })
    }

    async fn versions(&self, name: String, page: Page) -> anyhow::Result<()> {
        let request = ListVersionsRequest {
            workspace_id: self.context.workspace(),
            name: name.clone(),
            page_size: page.page_size,
            page_token: page.page_token,
        };
        let reply = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.list_versions(request).await }
        });
        let reply = reply.await?;
        self.more(&format!("versions {name}"), &reply.next_page_token);
        self.context.print(&reply, |reply| {
            let rows = reply.versions.iter().map(|template| {
                [
                    template.version.to_string(),
                    moment(template.create_time.as_ref()),
                    template.created_by.clone(),
                ]
            });
            table(["version", "created", "by"], rows)
        })
    }

    fn more(&self, verb: &str, token: &str) {
        if !token.is_empty() && !self.context.globals.json {
            hint(&format!(
                "more: cambium templates {verb} --page-token {token}"
            ));
        }
    }

    async fn export(&self, named: Named) -> anyhow::Result<()> {
        let request = ExportTemplateRequest {
            workspace_id: self.context.workspace(),
            name: named.name,
            version: named.version,
        };
        let reply = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.export_template(request).await }
        });
        self.context
            .print(&reply.await?, |reply| reply.yaml.clone())
    }

    async fn show(&self, named: Named) -> anyhow::Result<()> {
        let request = GetTemplateRequest {
            workspace_id: self.context.workspace(),
            name: named.name,
            version: named.version,
        };
        let reply = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.get_template(request).await }
        });
        self.context.print(&reply.await?, |reply| {
            shown(&reply.template.clone().unwrap_or_default())
        })
    }

    /// Puts what the file says in place of what is there now.
    async fn put(&self, file: &File) -> anyhow::Result<()> {
        let yaml = read(&file.path)?;
        let name = match file.name.as_str() {
            "" => name_in(&yaml),
            name => name.to_owned(),
        };
        let request = GetTemplateRequest {
            workspace_id: self.context.workspace(),
            name,
            version: 0,
        };
        let current = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.get_template(request).await }
        });
        let expected = match current.await {
            Ok(reply) => reply.template.unwrap_or_default().version,
            // Whatever is wrong with the name the import will say.
            Err(status) if matches!(status.code(), Code::NotFound | Code::InvalidArgument) => 0,
            Err(status) => return Err(status.into()),
        };
        let reply = self.import(&yaml, &file.name, expected).await?;
        self.stored(&reply)
    }

    async fn import(
        &self,
        yaml: &str,
        name: &str,
        expected_version: i32,
    ) -> anyhow::Result<ImportTemplateResponse> {
        let request = ImportTemplateRequest {
            workspace_id: self.context.workspace(),
            request_id: request_id(),
            yaml: yaml.to_owned(),
            name: name.to_owned(),
            expected_version,
        };
        let reply = self.connection.retrying(|| {
            let (mut templates, request) = (self.templates(), request.clone());
            async move { templates.import_template(request).await }
        });
        Ok(reply.await?)
    }

    fn stored(&self, reply: &ImportTemplateResponse) -> anyhow::Result<()> {
        for part in &reply.left_out {
            hint(&format!("`{part}` was read past: only composting promotes"));
        }
        self.context.print(reply, |reply| {
            let template = reply.template.clone().unwrap_or_default();
            format!("template {} version {}", template.name, template.version)
        })
    }
}

/// The name that a template's file gives it, as far as a line of it says so: which version is current is asked by it.
fn name_in(yaml: &str) -> String {
    let mut names = yaml.lines().filter_map(|line| line.strip_prefix("name:"));
    let name = names.next().unwrap_or_default();
    let name = name.split(" #").next().unwrap_or_default().trim();
    name.trim_matches(['"', '\'']).to_owned()
}

fn shown(template: &Template) -> String {
    let spec = template.spec.clone().unwrap_or_default();
    format!(
        "{} version {}\n  role          {}\n  capabilities  {}\n  live agents   {}\n  learnings     {}\n  approval      {}\n  put           {} by {}\n\n{}",
        template.name,
        template.version,
        spec.role,
        spec.capabilities.join(", "),
        template.live_agents,
        template.learnings,
        if spec.requires_approval {
            "by an operator"
        } else {
            "none"
        },
        moment(template.create_time.as_ref()),
        template.created_by,
        spec.instructions,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_which_template_it_is() {
        assert_eq!(
            name_in("role: a\nname: \"my writer\" # ours\n"),
            "my writer"
        );
        assert_eq!(name_in("config:\n  name: inner\n"), "");
    }
}
