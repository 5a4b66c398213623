//! Writing in a record: by its mind, or by the operator. All of a call's documents or none; each is allowed as what it is.

use std::collections::BTreeSet;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::{Action, Facts};
use cambium_swarm::record::{self, Author, Document, Kind};

use super::{names, of_ids, shelf, write};
use crate::app::{About, App, Change};
use crate::convert;
use crate::convert::record::name_to_wire;
use crate::error::Error;

impl App {
    /// By a mind, in its own record.
    pub(crate) async fn append_record(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        documents: &[Document],
    ) -> Result<wire::AppendRecordResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let mind = convert::own(&change.actor)?;
        let mut asked = BTreeSet::from([(Action::AppendRecord, &mind)]);
        for document in documents {
            let verb = record::verb(document.kind(), document.payload())?;
            asked.insert((verb, document.holder()));
        }
        allowed(&mut change, asked).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let author = Author::Mind(mind.clone());
        let written = written(&mut change, (Action::AppendRecord, documents), &author).await?;
        let reply = wire::AppendRecordResponse {
            written: written.iter().map(name_to_wire).collect(),
        };
        let about = About::mind(&mind, names(&written));
        change.finish(reply, about).await
    }

    /// By the operator: a ruling in a mind's record, and the end of what it supersedes.
    pub(crate) async fn rule_as_operator(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        (holder, documents): (&Instance, &[Document]),
    ) -> Result<wire::RuleAsOperatorResponse, Error> {
        record::is_one_ruling(holder, documents)?;
        let mut change = self.begin(call, workspace).await?;
        let mut asked = BTreeSet::from([(Action::RuleAsOperator, holder)]);
        if answers_fork(&mut change, documents).await? {
            asked.insert((Action::RuleCrossMind, holder));
        }
        for document in documents {
            if record::verb(document.kind(), document.payload())? == Action::SupersedeRuling {
                asked.insert((Action::SupersedeRuling, document.holder()));
            }
        }
        allowed(&mut change, asked).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        leaves_the_lead(&mut change, documents).await?;
        let given = (Action::RuleAsOperator, documents);
        let written = written(&mut change, given, &Author::Operator).await?;
        let reply = wire::RuleAsOperatorResponse {
            written: written.iter().map(name_to_wire).collect(),
        };
        let about = About::mind(holder, names(&written));
        change.finish(reply, about).await
    }

    /// By the operator: a question of its own, or between minds.
    pub(crate) async fn open_question(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        question: &Document,
    ) -> Result<wire::OpenQuestionResponse, Error> {
        if question.kind() != Kind::Question {
            return Err(Error::field("question.kind", "is not that of a question"));
        }
        let mut change = self.begin(call, workspace).await?;
        let holder = question.holder();
        if let Some(reply) = change.admit(Action::OpenQuestion, Some(holder)).await? {
            return Ok(reply);
        }
        let given = (Action::OpenQuestion, std::slice::from_ref(question));
        let written = written(&mut change, given, &Author::Operator).await?;
        let reply = wire::OpenQuestionResponse {
            written: written.iter().map(name_to_wire).collect(),
        };
        let about = About::mind(holder, names(&written));
        change.finish(reply, about).await
    }
}

/// Each verb, and the mind whose record it is about, is asked for once.
async fn allowed(
    change: &mut Change<'_>,
    asked: BTreeSet<(Action, &Instance)>,
) -> Result<(), Error> {
    for (action, mind) in asked {
        let facts = Facts {
            mind: Some(mind.clone()),
            ..Facts::default()
        };
        change.authorize(action, facts).await?;
    }
    Ok(())
}

/// Writes them; what the rules deny is told as what the table denies.
async fn written(
    change: &mut Change<'_>,
    (action, documents): (Action, &[Document]),
    author: &Author,
) -> Result<Vec<Document>, Error> {
    let (workspace, signed) = (change.workspace.clone(), change.signed());
    let given = documents.to_vec();
    let written = write(change.conn(), &workspace, given, author, &signed).await;
    if let Err(denial) = &written {
        let facts = Facts {
            mind: documents.first().map(|one| one.holder().clone()),
            ..Facts::default()
        };
        change.tell_refusal(action, &facts, denial).await?;
    }
    written
}

/// Whether a ruling answers a question between minds.
async fn answers_fork(change: &mut Change<'_>, documents: &[Document]) -> Result<bool, Error> {
    let answered = documents.iter().filter_map(|one| one.stated("answers"));
    let ids: Vec<String> = answered.map(str::to_owned).collect();
    if ids.is_empty() {
        return Ok(false);
    }
    let workspace = change.workspace.clone();
    let known = shelf(change.conn(), &workspace, of_ids(ids.clone())).await?;
    let mut questions = ids.iter().filter_map(|id| known.get(id));
    Ok(questions.any(Document::is_between_minds))
}

/// The lead moves by `MoveLead` alone, which takes a fresh login and moves its work along.
async fn leaves_the_lead(change: &mut Change<'_>, documents: &[Document]) -> Result<(), Error> {
    let workspace = change.workspace.clone();
    let moves = || Error::field("documents", "move the lead: that is MoveLead's");
    if documents.iter().any(record::is_lead_ruling) {
        return Err(moves());
    }
    let subjects = documents.iter().filter_map(|one| one.stated("subject"));
    let subjects: Vec<String> = subjects.map(str::to_owned).collect();
    if subjects.is_empty() {
        return Ok(());
    }
    let known = shelf(change.conn(), &workspace, of_ids(subjects.clone())).await?;
    let mut ended = subjects.iter().filter_map(|id| known.get(id));
    match ended.any(record::is_lead_ruling) {
        true => Err(moves()),
        false => Ok(()),
    }
}
