//! `cambium record`: what minds wrote down, and whether what they cite still says the same.

mod append;
mod end;

use cambium_proto::swarm::v1::{
    CitationState, Document, DocumentKind, ListDocumentsRequest, VerifiedCitation,
    VerifyCitationsRequest, VerifyCitationsResponse,
};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::ask::ask;
use crate::citing::{self, holder_of, kind_word};
use crate::context::Context;
use crate::exit::Exit;
use crate::json::{value, word};
use crate::page::{Page, more};
use crate::persona::pretty;
use crate::shell;
use crate::table::{moment, table};

pub(crate) use append::{Draft, append};
pub(crate) use end::Ending;

/// Read what minds wrote down, and check what they cite
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium record list eureka --in-force\n  cambium record show eureka:ruling:left\n  cambium record verify"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List documents, the newest first
    #[command(
        after_help = "Examples:\n  cambium record list\n  cambium record list eureka --kind ruling --in-force --json"
    )]
    List(List),
    /// Show one document, with what it cites
    #[command(after_help = "Example:\n  cambium record show eureka:ruling:left")]
    Show {
        /// Its id
        #[arg(value_name = "DOCUMENT")]
        id: String,
        /// In whose record, of one that two hold [default: whose id it is]
        #[arg(long, value_name = "MIND")]
        holder: Option<String>,
    },
    /// Read again all that is cited; exit 1 if any of it is not what it was
    #[command(after_help = "Examples:\n  cambium record verify\n  cambium record verify eureka")]
    Verify {
        /// [default: every mind's citations]
        #[arg(value_name = "MIND")]
        mind: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    Append(append::Append),
    End(end::End),
}

#[derive(Debug, clap::Args)]
struct List {
    /// [default: every mind's]
    #[arg(value_name = "MIND")]
    mind: Option<String>,
    #[arg(long, value_parser = kind())]
    kind: Option<DocumentKind>,
    /// Only what no other document has ended
    #[arg(long)]
    in_force: bool,
    #[command(flatten)]
    page: Page,
}

fn kind() -> impl TypedValueParser<Value = DocumentKind> {
    let words = [
        "identity",
        "campaign",
        "question",
        "ruling",
        "resolution",
        "stewardship",
        "hand-off",
        "citation",
    ];
    PossibleValuesParser::new(words).map(|word| {
        DocumentKind::from_str_name(&value(&word, "DOCUMENT_KIND_")).unwrap_or_default()
    })
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::List(args) => list(args, context).await,
        What::Show { id, holder } => show(&id, holder.as_deref(), context).await,
        What::Verify { mind, page } => verify(mind, page, context).await,
        What::Append(args) => append::run(args, context).await,
        What::End(args) => end::run(args, context).await,
    }
}

async fn list(args: List, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut command = "cambium record list".to_owned();
    if let Some(mind) = &args.mind {
        command += &format!(" {}", shell::word(mind));
    }
    if let Some(kind) = args.kind {
        command += &format!(" --kind {}", kind_word(kind).replace('_', "-"));
    }
    command += if args.in_force { " --in-force" } else { "" };
    let request = ListDocumentsRequest {
        workspace_id: context.workspace(),
        page_size: args.page.page_size,
        page_token: args.page.page_token,
        holder: args.mind.unwrap_or_default(),
        kind: args.kind.unwrap_or_default().into(),
        in_force_only: args.in_force,
    };
    let reply = ask!(connection, records.list_documents(request))?;
    more(&reply.next_page_token, &command, context);
    context.print(&reply, |reply| {
        let rows = reply.documents.iter().map(|document| {
            [
                document.id.clone(),
                stands(document),
                document.author.clone(),
                moment(document.write_time.as_ref()),
            ]
        });
        table(["document", "stands", "by", "written"], rows)
    })?;
    Ok(Exit::Done)
}

async fn show(id: &str, holder: Option<&str>, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let holder = holder.unwrap_or_else(|| holder_of(id));
    let reply = citing::get(&connection, context, holder, id).await?;
    context.print(&reply, |reply| {
        told(&reply.document.clone().unwrap_or_default())
    })?;
    Ok(Exit::Done)
}

fn told(document: &Document) -> String {
    let mut lines = vec![
        ("kind", kind_word(document.kind())),
        ("stands", stands(document)),
        ("by", document.author.clone()),
        ("written", moment(document.write_time.as_ref())),
        ("sha256", document.payload_sha256.clone()),
    ];
    let texts = [
        ("turn", &document.turn_id),
        ("session", &document.session_id),
    ];
    let said = texts.into_iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(name, text)| (name, text.clone())));
    lines.extend(document.citations.iter().map(|citation| {
        let cited = citation.r#ref.clone().unwrap_or_default();
        (
            "cites",
            format!("{}, {}", cited.id, state(citation.state())),
        )
    }));
    let lines = lines.into_iter();
    let lines: String = lines
        .map(|(name, value)| format!("\n  {name:<8} {value}"))
        .collect();
    format!("{}{lines}\n\n{}", document.id, pretty(&document.payload))
}

fn stands(document: &Document) -> String {
    let mut text = if document.in_force {
        "in force"
    } else {
        "ended"
    }
    .to_owned();
    if !document.review_on.is_empty() {
        text += &format!(", review {}", document.review_on);
    }
    text + if document.review_overdue {
        " overdue"
    } else {
        ""
    }
}

fn state(state: CitationState) -> String {
    word(state.as_str_name(), "CITATION_STATE_")
}

async fn verify(mind: Option<String>, page: Page, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut command = "cambium record verify".to_owned();
    if let Some(mind) = &mind {
        command += &format!(" {}", shell::word(mind));
    }
    let request = VerifyCitationsRequest {
        workspace_id: context.workspace(),
        holder: mind.unwrap_or_default(),
        page_size: page.page_size,
        page_token: page.page_token,
    };
    let reply = ask!(connection, records.verify_citations(request))?;
    more(&reply.next_page_token, &command, context);
    context.print(&reply, verified)?;
    Ok(match reply.citations.iter().any(is_broken) {
        true => Exit::Failed,
        false => Exit::Done,
    })
}

fn verified(reply: &VerifyCitationsResponse) -> String {
    let rows = reply.citations.iter().map(|one| {
        let citation = one.citation.clone().unwrap_or_default();
        [
            one.document_id.clone(),
            citation.r#ref.clone().unwrap_or_default().id,
            state(citation.state()),
        ]
    });
    table(["document", "cites", "which is"], rows)
}

/// Whether what stands there is not what was cited. What has moved away cannot be judged here.
fn is_broken(one: &VerifiedCitation) -> bool {
    let citation = one.citation.as_ref();
    citation.is_some_and(|citation| {
        matches!(
            citation.state(),
            CitationState::Altered | CitationState::Missing
        )
    })
}

#[cfg(test)]
mod tests {
    use cambium_proto::swarm::v1::{Citation, ForeignRef};

    use super::*;

    fn citation(state: CitationState) -> Citation {
        Citation {
            r#ref: Some(ForeignRef {
                id: "weksa:ruling:left".to_owned(),
                ..ForeignRef::default()
            }),
            state: state.into(),
        }
    }

    #[test]
    fn a_document_is_told_with_what_it_cites() {
        let document = Document {
            id: "eureka:ruling:right".to_owned(),
            kind: DocumentKind::Ruling.into(),
            payload: br#"{"label":"right"}"#.to_vec(),
            in_force: true,
            review_on: "2026-03-01".to_owned(),
            review_overdue: true,
            citations: vec![citation(CitationState::Altered)],
            ..Document::default()
        };

        let told = told(&document);

        assert!(
            told.starts_with("eureka:ruling:right\n  kind     ruling\n  stands   in force, review 2026-03-01 overdue\n"),
            "{told}"
        );
        assert!(
            told.contains("\n  cites    weksa:ruling:left, altered\n"),
            "{told}"
        );
        assert!(told.ends_with("{\n  \"label\": \"right\"\n}"), "{told}");
    }

    #[test]
    fn what_has_moved_away_is_not_broken() {
        let verified = |state| VerifiedCitation {
            citation: Some(citation(state)),
            ..VerifiedCitation::default()
        };

        assert!(is_broken(&verified(CitationState::Altered)));
        assert!(is_broken(&verified(CitationState::Missing)));
        assert!(!is_broken(&verified(CitationState::Remote)));
        assert!(!is_broken(&verified(CitationState::Verified)));
    }
}
