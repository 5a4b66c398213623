//! Table `stigmergy.region`: where live marks may be. It says which ranges of the marks' index a look must read.

use cambium_kernel::WorkspaceId;
use cambium_stigmergy::Region;
use sqlx::PgConnection;

use crate::error::Error;

/// A part of the environment: one region, or what is at and below one, or everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first text that belongs to it, and the first after it.
    pub(super) from: String,
    pub(super) to: String,
    /// In between, what is not below: `a-b` stands between `a` and `a/b`. All but `from` must be from here on.
    pub(super) below: String,
}

impl Range {
    pub(crate) fn only(region: &Region) -> Self {
        Self {
            from: region.as_str().to_owned(),
            // No text that goes on is less: `-` is the first character that a region may have.
            to: format!("{region}-"),
            below: format!("{region}-"),
        }
    }

    /// The region and all below it; without one, everything.
    pub(crate) fn within(region: Option<&Region>) -> Self {
        match region {
            Some(region) => Self {
                from: region.as_str().to_owned(),
                to: format!("{region}0"), // what follows `/`
                below: format!("{region}/"),
            },
            None => Self {
                from: String::new(),
                to: "~".to_owned(), // after every letter
                below: String::new(),
            },
        }
    }
}

/// A region with how many live marks are in it, not below it.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) region: String,
    pub(crate) markers: i64,
}

/// At most `limit` regions by name that come after `after`: those with a live mark in or below them.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    range: &Range,
    after: &str,
    limit: i64,
) -> Result<Vec<Summary>, Error> {
    let summaries = sqlx::query_as!(
        Summary,
        r#"
        WITH live AS MATERIALIZED (
            SELECT string_to_array(r.region, '/') AS segments
            FROM stigmergy.region r
            WHERE r.workspace_id = $1 AND r.region >= $2 AND r.region < $3 AND (r.region = $2 OR r.region >= $4)
              AND r.live_until > (SELECT stigmergy.now())
              AND EXISTS (
                  SELECT FROM stigmergy.marker m
                  WHERE m.workspace_id = $1 AND m.region = r.region AND m.expires_at > (SELECT stigmergy.now())
                    AND m.faded_at IS NULL
              )
        ), named AS MATERIALIZED (
            SELECT DISTINCT array_to_string(l.segments[1:n], '/') COLLATE "C" AS region
            FROM live l CROSS JOIN LATERAL generate_series(1, cardinality(l.segments)) AS n
        ), paged AS MATERIALIZED (
            SELECT n.region FROM named n
            WHERE n.region >= $2 AND n.region > $5 -- what is above the region asked for is not of it
            ORDER BY n.region
            LIMIT $6
        )
        SELECT p.region AS "region!", (
                   SELECT count(*) FROM stigmergy.marker m
                   WHERE m.workspace_id = $1 AND m.region = p.region AND m.expires_at > (SELECT stigmergy.now())
                     AND m.faded_at IS NULL
               ) AS "markers!"
        FROM paged p
        ORDER BY p.region
        "#,
        workspace.as_str(),
        range.from,
        range.to,
        range.below,
        after,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(summaries)
}

/// Forgets up to `limit` regions whose last mark has faded; tells how many. A mark that comes later brings its region back.
pub(crate) async fn forget(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM stigmergy.region r
        USING (
            SELECT g.workspace_id, g.region FROM stigmergy.region g
            WHERE g.live_until <= (SELECT stigmergy.now())
              -- Silent, but not yet noticed: should the clock go back, it speaks again.
              AND NOT EXISTS (
                  SELECT FROM stigmergy.marker m
                  WHERE m.workspace_id = g.workspace_id AND m.region = g.region AND m.faded_at IS NULL
              )
            ORDER BY g.live_until
            LIMIT $1
            FOR UPDATE OF g SKIP LOCKED -- whoever holds it makes it live longer, or forgets it too
        ) old
        WHERE r.workspace_id = old.workspace_id AND r.region = old.region
          AND r.live_until <= (SELECT stigmergy.now())
        "#,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(range: &Range, text: &str) -> bool {
        let (from, to, below) = (range.from.as_str(), range.to.as_str(), range.below.as_str());
        from <= text && text < to && (text == from || text >= below)
    }

    #[test]
    fn a_range_has_its_region_and_what_is_below_and_nothing_else() {
        let region = Region::parse("a/b").unwrap();
        let (only, within) = (Range::only(&region), Range::within(Some(&region)));
        let everything = Range::within(None);

        for (text, is_only, is_within) in [
            ("a", false, false),
            ("a/b", true, true),
            ("a/b-c", false, false),
            ("a/b/-", false, true),
            ("a/b/c", false, true),
            ("a/b/z_/9", false, true),
            ("a/b0", false, false),
            ("a/bc", false, false),
            ("b", false, false),
        ] {
            assert_eq!(has(&only, text), is_only, "{text}");
            assert_eq!(has(&within, text), is_within, "{text}");
            assert!(has(&everything, text), "{text}");
        }
    }
}
