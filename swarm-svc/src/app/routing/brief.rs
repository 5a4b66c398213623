//! What a mind is told of its work when its turn begins: what it holds, what it is offered, what came since it last ran.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::record::ForeignRef;
use cambium_swarm::review;
use cambium_swarm::work::{OFFER_LASTS, State};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;
use crate::store::document::News;
use crate::store::review::Filter;
use crate::store::work::Item;

/// The most of each.
const HELD: i64 = 32;
const OFFERS: usize = 16;
const NEWS: i64 = 32;
const REVIEWS: i64 = 32;

/// Why the turn is, held work and offers with the oldest first, answers and the operator's rulings since an instant, and reviews
/// whose day has come.
pub(crate) async fn brief_work(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    since: Option<DateTime<Utc>>,
) -> Result<Value, Error> {
    let name = mind.as_str();
    let now = store::now(conn).await?;
    let standing = store::standing::of(conn, workspace, mind).await?.standing;
    let reason = standing.woken_by(since, now);
    let since = since.unwrap_or(DateTime::UNIX_EPOCH);
    let held = store::work::oldest_held(conn, workspace, name, HELD).await?;
    let answers = store::document::news(conn, workspace, (name, false), since, NEWS).await?;
    let rulings = store::document::news(conn, workspace, (name, true), since, NEWS).await?;
    let today = now.date_naive();
    let due = Filter {
        holder: Some(name),
        before: today.succ_opt(),
    };
    let due = store::review::first(conn, workspace, due, REVIEWS).await?;
    let reviews = due.iter().map(|one| {
        json!({
            "ruling_id": one.ruling_id,
            "title": one.title,
            "review_on": one.review_on.to_string(),
            "overdue": review::is_overdue(one.review_on, today),
        })
    });
    Ok(json!({
        "reason": reason,
        "held_work": held.iter().map(held_work).collect::<Vec<_>>(),
        "offers": offers(conn, workspace, name, now).await?,
        "answers": answers.iter().map(news).collect::<Vec<_>>(),
        "operator_rulings": rulings.iter().map(news).collect::<Vec<_>>(),
        "overdue_reviews": reviews.collect::<Vec<_>>(),
    }))
}

/// Those that wait for this mind's answer, each with the work that it is of.
async fn offers(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    now: DateTime<Utc>,
) -> Result<Vec<Value>, Error> {
    let waiting = (None, Some(name));
    let found = store::document::offers(conn, workspace, waiting, now - OFFER_LASTS).await?;
    let mut offers = Vec::new();
    for offer in found.into_iter().take(OFFERS) {
        let work = store::work::offered_by(conn, workspace, &offer.id, name).await?;
        let mut told = json!({
            "giver": offer.giver,
            "id": offer.id,
            "offer": offer.payload,
            "offered_at": instant(offer.offered_at),
        });
        if let (Value::Object(told), Some(item)) = (&mut told, &work) {
            told.insert("work".to_owned(), held_work(item));
        }
        offers.push(told);
    }
    Ok(offers)
}

fn held_work(item: &Item) -> Value {
    let refs: Vec<Value> = item.refs.iter().map(ForeignRef::to_value).collect();
    let mut told = json!({
        "work_id": item.id.to_string(),
        "title": item.title,
        "body": item.body,
        "refs": refs,
        "addressed": item.work.is_addressed,
        "submitted_by": item.submitted_by,
        "submitted_at": instant(item.submitted_at),
    });
    if let (Value::Object(told), State::Offered { to, .. }) = (&mut told, &item.work.state) {
        told.insert("offered_to".to_owned(), json!(to.as_str()));
    }
    told
}

fn news(news: &News) -> Value {
    let mut told = json!({
        "id": news.id,
        "payload": news.payload,
        "payload_sha256": news.payload_sha256,
        "written_at": instant(news.written_at),
    });
    if let Value::Object(told) = &mut told {
        for (field, of) in [("subject", &news.subject), ("ruling", &news.ruling)] {
            if let Some(payload) = of {
                told.insert(field.to_owned(), payload.clone());
            }
        }
    }
    told
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
