//! The documents that a decision looks at, and which of them are in force. Holds what it was given, and fetches nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Document, ForeignRef, Kind};
use crate::{Error, Instance};

/// Documents of one workspace, by id. An id names its holder, so no two minds share one.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    documents: BTreeMap<String, Document>,
}

impl Shelf {
    #[must_use]
    pub fn new(documents: impl IntoIterator<Item = Document>) -> Self {
        let by_id = documents
            .into_iter()
            .map(|document| (document.id().to_owned(), document));
        Self {
            documents: by_id.collect(),
        }
    }

    /// With these beside what it holds.
    #[must_use]
    pub fn with(mut self, documents: impl IntoIterator<Item = Document>) -> Self {
        documents
            .into_iter()
            .for_each(|document| self.add(document));
        self
    }

    pub(super) fn add(&mut self, document: Document) {
        self.documents.insert(document.id().to_owned(), document);
    }

    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Document> {
        self.documents.get(id)
    }

    pub(super) fn find(&self, id: &str) -> Result<&Document, Error> {
        self.get(id).ok_or_else(|| Error::NoDocument(id.to_owned()))
    }

    /// A document that exists and is in force.
    pub(super) fn in_force(&self, id: &str) -> Result<&Document, Error> {
        let document = self.find(id)?;
        if self.is_in_force(document) {
            Ok(document)
        } else {
            Err(Error::NotInForce(id.to_owned()))
        }
    }

    pub fn resolutions<'a>(&'a self, subject: &'a str) -> impl Iterator<Item = &'a Document> {
        let of_kind = self.of(Kind::Resolution);
        of_kind.filter(move |document| document.text("subject") == subject)
    }

    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Document> {
        self.documents
            .values()
            .filter(move |document| document.kind() == kind)
    }

    /// In force = no resolution in force names it. A resolution's own depth is two at most, so that this ends.
    #[must_use]
    pub fn is_in_force(&self, document: &Document) -> bool {
        let is_ended = |by: &Document| {
            let mut undone = self.resolutions(by.id());
            !undone.any(|withdrawal| self.resolutions(withdrawal.id()).next().is_none())
        };
        !self.resolutions(document.id()).any(is_ended)
    }

    /// Whether a document, or what took its place, is in force.
    pub(super) fn is_upheld(&self, id: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = self.get(id);
        while let Some(document) = next.filter(|document| seen.insert(document.id().to_owned())) {
            if self.is_in_force(document) {
                return true;
            }
            let mut ends = self.resolutions(document.id());
            let end = ends.find(|end| self.is_in_force(end));
            next = end.and_then(|end| self.get(end.stated("by")?));
        }
        false
    }

    /// The next number of a subject's resolutions.
    #[must_use]
    pub fn next_resolution(&self, subject: &str) -> u32 {
        next(self.resolutions(subject))
    }

    /// The next number of an area's stewardships.
    #[must_use]
    pub fn next_stewardship(&self, area: &str) -> u32 {
        next(
            self.of(Kind::Stewardship)
                .filter(|document| document.text("area") == area),
        )
    }

    /// Who looks after an area: at most one.
    #[must_use]
    pub fn steward(&self, area: &str) -> Option<&Document> {
        let of_area = |document: &&Document| document.text("area") == area;
        let mut stewards = self.of(Kind::Stewardship).filter(of_area);
        stewards.find(|document| self.is_in_force(document))
    }

    /// The lead: whom the one standing ruling in force that is labelled `swarm-lead` names.
    #[must_use]
    pub fn lead(&self) -> Option<Instance> {
        Instance::parse(self.lead_ruling()?.stated("names_lead")?).ok()
    }

    /// The one ruling in force that makes the lead, or says that there is none.
    #[must_use]
    pub fn lead_ruling(&self) -> Option<&Document> {
        let mut rulings = self
            .of(Kind::Ruling)
            .filter(|ruling| is_lead_ruling(ruling));
        rulings.find(|ruling| self.is_in_force(ruling))
    }

    /// Whether what is cited is here, with that kind and digest.
    pub fn check_citation(&self, cited: &ForeignRef) -> Result<(), Error> {
        let found = self
            .get(&cited.id)
            .filter(|document| *document.holder() == cited.instance);
        match found {
            Some(document) if ForeignRef::of(document) == *cited => Ok(()),
            _ => Err(Error::CitationMismatch(cited.id.clone())),
        }
    }
}

/// Whether a ruling is the one that makes a lead, or says that there is none.
#[must_use]
pub fn is_lead_ruling(ruling: &Document) -> bool {
    ruling.stated("authority") == Some("standing") && ruling.stated("label") == Some("swarm-lead")
}

fn next<'a>(documents: impl Iterator<Item = &'a Document>) -> u32 {
    documents
        .map(Document::sequence)
        .max()
        .unwrap_or(0)
        .saturating_add(1)
}
