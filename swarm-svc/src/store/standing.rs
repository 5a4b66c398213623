//! All that is read of minds to know where they stand: state, brake, share, haste, loans, session, agenda, launches, reviews, live turn.
//! Absent or unreadable, a brake holds and a share is none.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::launch::Launch;
use cambium_swarm::loan::{self, Loan};
use cambium_swarm::member::{Agenda, Brake, Standing, Wakes};
use cambium_swarm::mind::State;
use cambium_swarm::share::{EffectiveShare, Factor, Haste, Share, haste};
use chrono::{DateTime, NaiveTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A mind's standing, with what weighs its turns.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) instance: Instance,
    pub(crate) standing: Standing,
    pub(crate) haste: Option<Haste>,
    /// Those that count for it, given and taken.
    pub(crate) loans: Vec<Loan>,
}

impl Placed {
    /// Its share after loans, where it has one.
    pub(crate) fn effective(&self, now: DateTime<Utc>) -> Option<EffectiveShare> {
        let own = self.standing.share?;
        Some(loan::effective(own, &self.loans, &self.instance, now))
    }

    pub(crate) fn factor(&self, now: DateTime<Utc>) -> Factor {
        haste(self.haste.as_ref(), now)
    }

    /// When its place may next change by itself.
    pub(crate) fn due_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let haste = self.haste.iter().map(|haste| haste.until);
        let loans = self.loans.iter().map(|loan| loan.until);
        self.standing.due_at(haste.chain(loans), now)
    }
}

/// The standings of these minds; of all that were ever opened or proposed where none is named.
pub(crate) async fn load(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: Option<&[Instance]>,
) -> Result<Vec<Placed>, Error> {
    let names: Option<Vec<String>> =
        minds.map(|minds| minds.iter().map(|mind| mind.as_str().to_owned()).collect());
    let rows = sqlx::query!(
        r#"
        SELECT
            m.instance, m.state,
            coalesce(b.released, false) AS "released!",
            s.share_ppm AS "share_ppm?", s.haste_ppm AS "haste_ppm?", s.haste_until AS "haste_until?",
            o.until_at AS "session_until?",
            a.wakes AS "wakes?", a.wake_at AS "wake_at?", a.rest_until AS "rest_until?",
            a.retirement_asked_at AS "retirement_asked_at?",
            l.epoch AS "epoch?", l.launched_at AS "launched_at?", l.last_run_at AS "last_run_at?",
            l.reason_at AS "reason_at?", l.retry_at AS "retry_at?", l.fails AS "fails?",
            EXISTS (
                SELECT FROM swarm.turn t
                WHERE t.workspace_id = m.workspace_id AND t.instance = m.instance
                  AND t.state IN ('granted', 'running')
            ) AS "live!",
            ARRAY(
                SELECT r.review_on
                FROM swarm.review r
                JOIN swarm.document_in_force d ON d.workspace_id = r.workspace_id AND d.id = r.ruling_id
                WHERE r.workspace_id = m.workspace_id AND r.holder = m.instance
            ) AS "reviews!"
        FROM swarm.mind m
        LEFT JOIN swarm.brake b ON b.workspace_id = m.workspace_id AND b.instance = m.instance
        LEFT JOIN swarm.share s ON s.workspace_id = m.workspace_id AND s.instance = m.instance
        LEFT JOIN swarm.operator_session o
            ON o.workspace_id = m.workspace_id AND o.instance = m.instance AND o.closed_at IS NULL
        LEFT JOIN swarm.agenda a ON a.workspace_id = m.workspace_id AND a.instance = m.instance
        LEFT JOIN swarm.launch l ON l.workspace_id = m.workspace_id AND l.instance = m.instance
        WHERE m.workspace_id = $1 AND ($2::text[] IS NULL OR m.instance = ANY($2))
        ORDER BY m.instance
        "#,
        workspace.as_str(),
        names.as_deref(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut loans = loans_by_mind(conn, workspace, names.as_deref()).await?;
    let mut placed = Vec::new();
    for row in rows {
        let instance = store::instance(&row.instance)?;
        let state = State::parse(&row.state)
            .ok_or_else(|| Error::broken(format!("mind `{instance}`"), &row.state))?;
        let factor = row.haste_ppm.and_then(|ppm| Factor::from_ppm(ppm).ok());
        let reviews = row
            .reviews
            .iter()
            .map(|day| day.and_time(NaiveTime::MIN).and_utc());
        placed.push(Placed {
            standing: Standing {
                state,
                brake: if row.released {
                    Brake::Released
                } else {
                    Brake::Held
                },
                share: row.share_ppm.and_then(|ppm| Share::from_ppm(ppm).ok()),
                session_until: row.session_until,
                agenda: Agenda {
                    wakes: row
                        .wakes
                        .map_or(Ok(Wakes::default()), |text| Wakes::parse(&text))?,
                    wake_at: row.wake_at,
                    rest_until: row.rest_until,
                    retirement_asked_at: row.retirement_asked_at,
                },
                launch: Launch {
                    epoch: row.epoch.unwrap_or(0),
                    launched_at: row.launched_at,
                    last_run_at: row.last_run_at,
                    reason_at: row.reason_at,
                    retry_at: row.retry_at,
                    fails: row
                        .fails
                        .and_then(|fails| u32::try_from(fails).ok())
                        .unwrap_or(0),
                },
                reviews: reviews.collect(),
                has_unreadable_persona: false,
                is_live: row.live,
            },
            haste: factor
                .zip(row.haste_until)
                .map(|(factor, until)| Haste { factor, until }),
            loans: loans.remove(&row.instance).unwrap_or_default(),
            instance,
        });
    }
    Ok(placed)
}

/// The standing of one mind, whatever its state.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Placed, Error> {
    let found = load(conn, workspace, Some(std::slice::from_ref(mind))).await?;
    Ok(found
        .into_iter()
        .next()
        .ok_or(cambium_swarm::Error::NoMind)?)
}

/// The loans that count now, by each party.
async fn loans_by_mind(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    names: Option<&[String]>,
) -> Result<BTreeMap<String, Vec<Loan>>, Error> {
    let mut by_mind: BTreeMap<String, Vec<Loan>> = BTreeMap::new();
    for loan in store::loan::active(conn, workspace, names).await? {
        for party in [&loan.lender, &loan.borrower] {
            by_mind
                .entry(party.as_str().to_owned())
                .or_default()
                .push(loan.clone());
        }
    }
    Ok(by_mind)
}
