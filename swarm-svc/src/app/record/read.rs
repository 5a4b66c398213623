//! Reading records. What is cited is hashed again at every read, and what is overdue is told. Changes nothing.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_swarm::authority::Permit;
use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::record as wired;
use crate::error::Error;
use crate::store;
use crate::store::citation::{self, Cited};
use crate::store::document::{self, Filter, Stored};
use crate::store::review;

impl App {
    pub(crate) async fn document(
        &self,
        workspace: &WorkspaceId,
        (holder, id): (&str, &str),
        permit: Permit,
    ) -> Result<wire::GetDocumentResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = document::find(&mut conn, workspace, holder, id).await?;
        let found = found.ok_or_else(|| cambium_swarm::Error::NoDocument(id.to_owned()))?;
        let mut shown = shown(&mut conn, workspace, &[found], permit).await?;
        Ok(wire::GetDocumentResponse {
            document: shown.pop(),
        })
    }

    pub(crate) async fn documents(
        &self,
        workspace: &WorkspaceId,
        filter: &Filter,
        page: &Page<document::Place>,
        permit: Permit,
    ) -> Result<wire::ListDocumentsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = document::list(&mut conn, workspace, filter, page).await?;
        let places: Vec<document::Place> = found
            .iter()
            .map(|one| document::Place {
                at: one.written_at,
                id: one.id.clone(),
            })
            .collect();
        let shown = shown(&mut conn, workspace, &found, permit).await?;
        let (documents, next_page_token) = page.cut(shown, &places);
        Ok(wire::ListDocumentsResponse {
            documents,
            next_page_token,
        })
    }

    pub(crate) async fn citations(
        &self,
        workspace: &WorkspaceId,
        holder: Option<&str>,
        page: &Page<citation::Place>,
    ) -> Result<wire::VerifyCitationsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = citation::list(&mut conn, workspace, holder, page).await?;
        let places: Vec<citation::Place> = found
            .iter()
            .map(|cited| citation::Place {
                document_id: cited.document_id.clone(),
                n: cited.n,
            })
            .collect();
        let shown = found.iter().map(|cited| wire::VerifiedCitation {
            holder: cited.holder.clone(),
            document_id: cited.document_id.clone(),
            citation: Some(wired::citation_to_wire(cited)),
        });
        let (citations, next_page_token) = page.cut(shown, &places);
        Ok(wire::VerifyCitationsResponse {
            citations,
            next_page_token,
        })
    }

    pub(crate) async fn reviews(
        &self,
        workspace: &WorkspaceId,
        overdue_only: bool,
        page: &Page<review::Place>,
    ) -> Result<wire::ListReviewsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let today = today(&mut conn).await?;
        let filter = review::Filter {
            holder: None,
            before: overdue_only.then_some(today),
        };
        let found = review::list(&mut conn, workspace, filter, page).await?;
        let places: Vec<review::Place> = found
            .iter()
            .map(|one| review::Place {
                review_on: one.review_on,
                ruling_id: one.ruling_id.clone(),
            })
            .collect();
        let shown = found.iter().map(|one| wired::review_to_wire(one, today));
        let (reviews, next_page_token) = page.cut(shown, &places);
        Ok(wire::ListReviewsResponse {
            reviews,
            next_page_token,
        })
    }
}

async fn today(conn: &mut PgConnection) -> Result<NaiveDate, Error> {
    Ok(store::now(conn).await?.date_naive())
}

/// Documents as they are shown, each with what it cites.
async fn shown(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    found: &[Stored],
    permit: Permit,
) -> Result<Vec<wire::Document>, Error> {
    let today = today(conn).await?;
    let ids: Vec<String> = found.iter().map(|one| one.id.clone()).collect();
    let mut cited: BTreeMap<String, Vec<Cited>> = BTreeMap::new();
    for one in citation::of(conn, workspace, &ids).await? {
        cited.entry(one.document_id.clone()).or_default().push(one);
    }
    let shown = found.iter().map(|one| {
        let cited = cited.remove(&one.id).unwrap_or_default();
        wired::document_to_wire(one, &cited, today, permit)
    });
    Ok(shown.collect())
}
