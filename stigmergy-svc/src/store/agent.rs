//! Table `stigmergy.agent`.

use cambium_kernel::AgentId;
use sqlx::PgConnection;

use crate::error::Error;

/// How far an agent's life has gone, as far as it was heard of here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Active,
    Draining,
    Retired,
}

/// What a signal says of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) workspace: String,
    pub(crate) id: AgentId,
    pub(crate) name: Option<String>,
    pub(crate) state: State,
}

impl State {
    pub(super) const fn of(number: i16) -> Self {
        match number {
            i16::MIN..=0 => Self::Active,
            1 => Self::Draining,
            2..=i16::MAX => Self::Retired,
        }
    }

    const fn number(self) -> i16 {
        match self {
            Self::Active => 0,
            Self::Draining => 1,
            Self::Retired => 2,
        }
    }
}

/// Notes what was heard, in whatever order it comes: a life only moves on, and a name that is known stays.
pub(crate) async fn upsert(conn: &mut PgConnection, agent: &Agent) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO stigmergy.agent AS a (workspace_id, agent_id, name, state)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT ON CONSTRAINT agent_pk
        DO UPDATE SET name = coalesce(excluded.name, a.name), state = greatest(a.state, excluded.state)
        "#,
        agent.workspace,
        agent.id.as_uuid(),
        agent.name,
        agent.state.number(),
    )
    .execute(conn)
    .await?;
    Ok(())
}
