//! Table `swarm.loan`: shares that minds lent one another.

use cambium_kernel::WorkspaceId;
use cambium_swarm::LoanId;
use cambium_swarm::loan::Loan;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store;

struct Row {
    loan_id: Uuid,
    lender: String,
    borrower: String,
    share_ppm: i64,
    from_at: DateTime<Utc>,
    until_at: DateTime<Utc>,
    ended_at: Option<DateTime<Utc>>,
    ended_by: Option<String>,
}

/// A loan, and who ended it before its time.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) loan: Loan,
    /// As in `operator:ada`.
    pub(crate) ended_by: Option<String>,
}

impl TryFrom<Row> for Kept {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let loan = Loan {
            id: LoanId::from_uuid(row.loan_id),
            lender: store::instance(&row.lender)?,
            borrower: store::instance(&row.borrower)?,
            share_ppm: row.share_ppm,
            from: row.from_at,
            until: row.until_at,
            ended_at: row.ended_at,
        };
        Ok(Self {
            loan,
            ended_by: row.ended_by,
        })
    }
}

/// The loans that nobody ended and that have not run out, of these minds or of all.
pub(crate) async fn active(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    names: Option<&[String]>,
) -> Result<Vec<Loan>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT loan_id, lender, borrower, share_ppm, from_at, until_at, ended_at, ended_by
        FROM swarm.loan
        WHERE workspace_id = $1 AND ended_at IS NULL AND until_at > swarm.now()
          AND ($2::text[] IS NULL OR lender = ANY($2) OR borrower = ANY($2))
        ORDER BY loan_id
        "#,
        workspace.as_str(),
        names,
    );
    let rows = rows.fetch_all(conn).await?;
    let loans = rows.into_iter().map(|row| Ok(Kept::try_from(row)?.loan));
    loans.collect()
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    loan: LoanId,
) -> Result<Option<Kept>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT loan_id, lender, borrower, share_ppm, from_at, until_at, ended_at, ended_by
        FROM swarm.loan
        WHERE workspace_id = $1 AND loan_id = $2
        "#,
        workspace.as_str(),
        loan.as_uuid(),
    );
    let row = row.fetch_optional(conn).await?;
    row.map(Kept::try_from).transpose()
}

/// Newest first, those below an id if one is given; of them those that count at `now`, or all.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    active_at: Option<DateTime<Utc>>,
    below: Option<LoanId>,
    limit: i64,
) -> Result<Vec<Kept>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT loan_id, lender, borrower, share_ppm, from_at, until_at, ended_at, ended_by
        FROM swarm.loan
        WHERE workspace_id = $1
          AND ($2::timestamptz IS NULL OR (ended_at IS NULL AND until_at > $2))
          AND ($3::uuid IS NULL OR loan_id < $3)
        ORDER BY loan_id DESC
        LIMIT $4
        "#,
        workspace.as_str(),
        active_at,
        below.map(LoanId::as_uuid),
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Kept::try_from).collect()
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    loan: &Loan,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.loan (workspace_id, loan_id, lender, borrower, share_ppm, from_at, until_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        "#,
        workspace.as_str(),
        loan.id.as_uuid(),
        loan.lender.as_str(),
        loan.borrower.as_str(),
        loan.share_ppm,
        loan.from,
        loan.until,
    );
    insert.execute(conn).await?;
    Ok(())
}

/// Ends these loans, those of them that nobody has ended.
pub(crate) async fn end(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    loans: &[LoanId],
    at: DateTime<Utc>,
    by: &str,
) -> Result<(), Error> {
    let ids: Vec<Uuid> = loans.iter().map(|loan| loan.as_uuid()).collect();
    let end = sqlx::query!(
        r#"
        UPDATE swarm.loan
        SET ended_at = $3, ended_by = $4
        WHERE workspace_id = $1 AND loan_id = ANY($2) AND ended_at IS NULL
        "#,
        workspace.as_str(),
        &ids,
        at,
        by,
    );
    end.execute(conn).await?;
    Ok(())
}
