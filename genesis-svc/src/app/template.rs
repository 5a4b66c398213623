//! Putting templates and reading them.

use cambium_genesis::TemplateName;
use cambium_kernel::WorkspaceId;
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use prost::Message;
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::{self, Page, Put};
use crate::error::Error;
use crate::store;
use crate::store::version::Version;

impl App {
    /// Puts a template; `answer` makes the reply that the call wants of it.
    #[tracing::instrument(skip_all, fields(template.name = %wish.name))]
    pub(crate) async fn put_template<R: Message + Default>(
        &self,
        call: &Call,
        wish: &Put,
        answer: impl Fn(wire::Template) -> R,
    ) -> Result<R, Error> {
        database::retry_conflicts(3, || self.put_once(call, wish, &answer)).await
    }

    async fn put_once<R: Message + Default>(
        &self,
        call: &Call,
        wish: &Put,
        answer: &impl Fn(wire::Template) -> R,
    ) -> Result<R, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &wish.workspace).await? {
            return Ok(reply);
        }
        let version = put(&mut tx, wish, call.principal.subject()).await?;
        let reply = answer(standing(&mut tx, &wish.workspace, &version).await?);
        receipt::insert(&mut tx, store::SCHEMA, call, &wish.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    pub(crate) async fn template(
        &self,
        workspace: &WorkspaceId,
        name: &TemplateName,
        version: Option<i32>,
    ) -> Result<wire::Template, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = self::version(&mut conn, workspace, name, version).await?;
        standing(&mut conn, workspace, &found).await
    }

    pub(crate) async fn export_template(
        &self,
        workspace: &WorkspaceId,
        name: &TemplateName,
        version: Option<i32>,
    ) -> Result<String, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = self::version(&mut conn, workspace, name, version).await?;
        found.spec.holds_no_secret()?;
        let head = store::template::head(&mut conn, workspace, name).await?;
        Ok(convert::to_yaml(
            name.as_str(),
            &found.spec,
            &head.learnings,
        ))
    }

    pub(crate) async fn templates(
        &self,
        workspace: &WorkspaceId,
        page: &Page,
    ) -> Result<wire::ListTemplatesResponse, Error> {
        let after = page.after(|name| Some(name.to_owned()))?;
        let mut conn = self.pool.acquire().await?;
        let after = after.as_deref().unwrap_or_default();
        let found = store::version::current(&mut conn, workspace, after, page.limit()).await?;
        let (mut templates, next_page_token) = convert::cut(
            page,
            &found,
            |version| version.name.to_string(),
            |version| convert::template_to_wire(workspace, version),
        );
        for (template, version) in templates.iter_mut().zip(&found) {
            count(&mut conn, workspace, &version.name, template).await?;
        }
        Ok(wire::ListTemplatesResponse {
            templates,
            next_page_token,
        })
    }

    pub(crate) async fn versions(
        &self,
        workspace: &WorkspaceId,
        name: &TemplateName,
        page: &Page,
    ) -> Result<wire::ListVersionsResponse, Error> {
        let before = page.after(|number| number.parse().ok())?;
        let mut conn = self.pool.acquire().await?;
        store::template::head(&mut conn, workspace, name).await?;
        let before = before.unwrap_or(i32::MAX);
        let found = store::version::of(&mut conn, workspace, name, before, page.limit()).await?;
        let (versions, next_page_token) = convert::cut(
            page,
            &found,
            |version| version.version.to_string(),
            |version| convert::template_to_wire(workspace, version),
        );
        Ok(wire::ListVersionsResponse {
            versions,
            next_page_token,
        })
    }
}

/// The version that the template has from now on: a new one, unless it says what the current one says.
async fn put(tx: &mut PgConnection, wish: &Put, by: String) -> Result<Version, Error> {
    let (workspace, name, expected) = (&wish.workspace, &wish.name, wish.expected);
    let is_new = expected == 0 && store::template::insert(tx, workspace, name).await?;
    let number = if is_new {
        1
    } else {
        let current = match store::template::lock(tx, workspace, name).await {
            Ok(head) => head.version,
            Err(Error::NoTemplate(_)) => 0,
            Err(error) => return Err(error),
        };
        if current != expected {
            return Err(Error::VersionMoved { current, expected });
        }
        let known = store::version::find(tx, workspace, name, current).await?;
        if known.spec == wish.spec {
            return Ok(known);
        }
        store::template::set_version(tx, workspace, name, current + 1).await?;
        current + 1
    };
    let version = Version {
        name: name.clone(),
        version: number,
        spec: wish.spec.clone(),
        created_at: store::now(tx).await?,
        created_by: by,
    };
    store::version::insert(tx, workspace, &version).await?;
    Ok(version)
}

/// A version of a template, or its current one.
async fn version(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    version: Option<i32>,
) -> Result<Version, Error> {
    let head = store::template::head(conn, workspace, name).await?;
    store::version::find(conn, workspace, name, version.unwrap_or(head.version)).await
}

/// A version for the wire; how the template stands goes with the current one.
async fn standing(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    version: &Version,
) -> Result<wire::Template, Error> {
    let mut template = convert::template_to_wire(workspace, version);
    count(conn, workspace, &version.name, &mut template).await?;
    Ok(template)
}

async fn count(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    template: &mut wire::Template,
) -> Result<(), Error> {
    let head = store::template::head(conn, workspace, name).await?;
    if head.version == template.version {
        let learnings = store::learning::count(conn, workspace, name).await?;
        template.live_agents = head.live_agents;
        template.learnings = i32::try_from(learnings).unwrap_or(i32::MAX);
    }
    Ok(())
}
