//! Brings a schema up to date and lets its service in. Run by whoever may create things: the role that serves never migrates.

use anyhow::Context;
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};

/// Services that migrate at once would trip over each other's rights. Held until its statements have run.
const ALONE: &str = "SELECT pg_advisory_xact_lock(hashtext('cambium.migrate'))";

/// Creates the schema, applies what is missing, and grants the login `role` (made if absent) what a service needs:
/// rows of its own schema, and nothing of `public`. Applying it again changes nothing.
pub async fn apply(
    pool: &PgPool,
    schema: &'static str,
    migrator: &Migrator,
    role: &str,
) -> anyhow::Result<()> {
    let unreachable = "the database cannot be reached: check its address and that it runs";
    let mut conn = pool.acquire().await.context(unreachable)?.detach();
    let applied = apply_on(&mut conn, schema, migrator, &quoted(role)).await;
    let closed = conn.close().await;
    applied.with_context(|| format!("schema `{schema}` could not be migrated"))?;
    closed.context(unreachable)
}

async fn apply_on(
    conn: &mut PgConnection,
    schema: &'static str,
    migrator: &Migrator,
    role: &str,
) -> anyhow::Result<()> {
    // A migration may take longer than a request may.
    execute(
        conn,
        "SET statement_timeout = 0; SET lock_timeout = 0".to_owned(),
    )
    .await?;
    execute(
        conn,
        format!("{ALONE}; CREATE SCHEMA IF NOT EXISTS {schema}"),
    )
    .await?;
    migrator.run(&mut *conn).await?;
    execute(conn, make_role(role))
        .await
        .context("the login role could not be made")?;
    execute(conn, grants(schema, role))
        .await
        .context("the login role could not be given its rights")
}

async fn execute(conn: &mut PgConnection, statements: String) -> anyhow::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statements))
        .execute(conn)
        .await?;
    Ok(())
}

/// Roles belong to the whole server, so somebody else may be making the same one.
fn make_role(role: &str) -> String {
    format!(
        "DO $do$ BEGIN
             CREATE ROLE {role} LOGIN NOINHERIT;
             ALTER ROLE {role} SET statement_timeout = '5s';
             ALTER ROLE {role} SET lock_timeout = '2s';
             ALTER ROLE {role} SET idle_in_transaction_session_timeout = '10s';
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
         END $do$"
    )
}

fn grants(schema: &str, role: &str) -> String {
    format!(
        "{ALONE};
         REVOKE ALL ON SCHEMA public FROM PUBLIC;
         GRANT USAGE ON SCHEMA {schema} TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role};
         DO $do$ BEGIN
             REVOKE ALL ON {schema}._sqlx_migrations FROM {role}; -- what was applied is not the service's to rewrite
         EXCEPTION WHEN undefined_table THEN NULL;
         END $do$"
    )
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
