//! The schema of a persona, as a table: `*` in the design is [`must`], everything else [`may`] be left out.
//! Holds no rule beyond the form of each part.

use super::shape::Shape::{Free, Instant, List, Map, Object, Part, Signed, Text, Uri, Word};
use super::shape::{self, Field, Shape};
use super::{SCHEMA_VERSION, shape::Object as Parts};
use crate::Error;

use serde_json::Value;

/// Checks a value against the whole schema; the first part at fault is named.
pub(super) fn check(value: &Value) -> Result<(), Error> {
    shape::check(value, &Object(&PERSONA), "")
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        is_required: true,
        shape,
    }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        is_required: false,
        shape,
    }
}

const fn closed(fields: &'static [Field]) -> Parts {
    Parts {
        fields,
        custom: None,
    }
}

/// An object in which the word `custom` asks for another field.
const fn open_ended(word: &'static str, what: &'static str, fields: &'static [Field]) -> Parts {
    Parts {
        fields,
        custom: Some((word, what)),
    }
}

const AUTHORITIES: [&str; 3] = ["canonical", "projection", "import"];
const RENDERERS: [&str; 7] = [
    "text",
    "chat",
    "avatar",
    "voice",
    "scene",
    "repo_persona",
    "custom",
];
pub(super) const TARGET_KINDS: [&str; 14] = [
    "person",
    "repo",
    "scene",
    "system",
    "room",
    "artifact",
    "concept",
    "relationship",
    "self",
    "community",
    "thread",
    "document",
    "runtime",
    "custom",
];
pub(super) const STATUSES: [&str; 6] = [
    "draft",
    "active",
    "cooling",
    "crystallized",
    "resolved",
    "retired",
];
const ACTION_TYPES: [&str; 12] = [
    "speak",
    "draft",
    "ask",
    "propose",
    "inspect",
    "notify",
    "wait",
    "remember",
    "handoff",
    "render",
    "external_action",
    "custom",
];
const READINESS: [&str; 5] = ["draft", "ready", "blocked", "waiting", "expired"];
const RISKS: [&str; 6] = ["none", "low", "medium", "high", "severe", "unknown"];
const RELATIONSHIPS: [&str; 11] = [
    "ally",
    "friend",
    "collaborator",
    "mentor",
    "ward",
    "rival",
    "audience",
    "community_member",
    "self_relation",
    "unknown",
    "custom",
];
const READ_KINDS: [&str; 10] = [
    "attention",
    "authority",
    "risk",
    "trust",
    "need",
    "conflict",
    "mood",
    "opportunity",
    "uncertainty",
    "custom",
];
const STANCES: [&str; 6] = [
    "aligned",
    "tension",
    "rejected",
    "uncertain",
    "contextual",
    "custom",
];

pub(super) static PERSONA: Parts = closed(&[
    must("schemaVersion", Word(&[SCHEMA_VERSION])),
    must("provenance", Object(&PROVENANCE)),
    must("personaId", Text),
    must("publicName", Text),
    may("publicDescription", Text),
    must("presentation", Object(&PRESENTATION)),
    may("privateNotes", List(&Text)),
    may("values", List(&Object(&VALUE))),
    must("activationProfile", Object(&PROFILE)),
    must("thoughtMemory", Object(&MEMORY)),
    must("agencyPressure", Object(&PRESSURE)),
    must("candidateActions", Object(&ACTIONS)),
    must("affect", Object(&AFFECT)),
    may("voidbotProjection", Object(&PROJECTION)),
    must("updatedAt", Instant),
]);

static PROVENANCE: Parts = closed(&[
    must("sourceSystem", Text),
    must("sourceDocumentId", Text),
    must("sourceUpdatedAt", Instant),
    must("exportedAt", Instant),
    must("authority", Word(&AUTHORITIES)),
]);

static PRESENTATION: Parts = open_ended(
    "defaultRenderer",
    "customRenderer",
    &[
        must("voiceSummary", Text),
        may("avatarUri", Uri),
        may("pronouns", Text),
        may("defaultRenderer", Word(&RENDERERS)),
        may("customRenderer", Text),
        may("homeContext", Object(&TARGET)),
        may("jurisdiction", Text),
        may("publicHandles", List(&Object(&HANDLE))),
    ],
);

static HANDLE: Parts = closed(&[must("system", Text), must("handle", Text), may("uri", Uri)]);

static VALUE: Parts = closed(&[
    must("id", Text),
    must("label", Text),
    must("priority", Part),
    may("summary", Text),
]);

static TARGET: Parts = open_ended(
    "kind",
    "customKind",
    &[
        must("kind", Word(&TARGET_KINDS)),
        must("id", Text),
        may("label", Text),
        may("customKind", Text),
    ],
);

static TRAIT: Parts = closed(&[
    must("mean", Part),
    must("plasticity", Part),
    must("currentActivation", Part),
]);

static PROFILE: Parts = closed(&[
    must("underlyingOrganization", Map(&Object(&TRAIT))),
    must("stableDispositions", Map(&Object(&TRAIT))),
    must("behavioralDimensions", Map(&Object(&TRAIT))),
    must("presentationStrategy", Map(&Object(&TRAIT))),
    must("voiceStyle", Map(&Object(&TRAIT))),
    must("situationalState", Map(&Object(&TRAIT))),
]);

static THOUGHT: Parts = closed(&[
    must("id", Text),
    must("status", Word(&STATUSES)),
    must("target", Object(&TARGET)),
    must("summary", Text),
    must("tension", Text),
    must("actionImplication", Text),
    must("createdAt", Instant),
    must("updatedAt", Instant),
    may("claim", Text),
    may("question", Text),
    may("intensity", Part),
    may("valence", Signed),
    may("retiredAt", Instant),
    may("tags", List(&Text)),
    may("extensions", Free),
]);

static MEMORY: Parts = closed(&[
    must("shortTerm", List(&Object(&THOUGHT))),
    must("memories", List(&Object(&THOUGHT))),
    must("incubation", List(&Object(&THOUGHT))),
]);

static PRESSURE: Parts = closed(&[must("pressures", List(&Object(&THOUGHT)))]);

static ACTIONS: Parts = closed(&[must("actions", List(&Object(&ACTION)))]);

static PROJECTION: Parts = closed(&[must("candidateInterventions", List(&Object(&ACTION)))]);

static ACTION: Parts = open_ended(
    "actionType",
    "customActionType",
    &[
        must("id", Text),
        must("status", Word(&STATUSES)),
        must("actionType", Word(&ACTION_TYPES)),
        may("customActionType", Text),
        must("readiness", Word(&READINESS)),
        must("riskLevel", Word(&RISKS)),
        must("target", Object(&TARGET)),
        must("summary", Text),
        must("createdAt", Instant),
        must("updatedAt", Instant),
        may("deliveryTarget", Object(&TARGET)),
        may("rationale", Text),
        may("urgency", Part),
        may("confidence", Part),
        may("constraints", List(&Text)),
        may("evidence", List(&Object(&THOUGHT))),
        may("expiresAt", Instant),
        may("extensions", Free),
    ],
);

static AFFECT: Parts = closed(&[
    must("needs", List(&Object(&THOUGHT))),
    must("socialBonds", List(&Object(&BOND))),
    must("statusReads", List(&Object(&READ))),
    must("moodDimensions", List(&Object(&MOOD))),
    must("socialBiases", List(&Object(&BIAS))),
    must("doctrineStances", List(&Object(&STANCE))),
]);

static BOND: Parts = open_ended(
    "relationshipKind",
    "customRelationshipKind",
    &[
        must("id", Text),
        must("status", Word(&STATUSES)),
        must("subject", Object(&TARGET)),
        must("object", Object(&TARGET)),
        must("relationshipKind", Word(&RELATIONSHIPS)),
        may("customRelationshipKind", Text),
        must("summary", Text),
        must("trust", Part),
        must("tension", Part),
        must("updatedAt", Instant),
        may("intensity", Part),
        may("lastEvidence", Object(&THOUGHT)),
        may("extensions", Free),
    ],
);

static READ: Parts = open_ended(
    "statusKind",
    "customStatusKind",
    &[
        must("id", Text),
        must("status", Word(&STATUSES)),
        must("target", Object(&TARGET)),
        must("statusKind", Word(&READ_KINDS)),
        may("customStatusKind", Text),
        must("summary", Text),
        must("confidence", Part),
        must("updatedAt", Instant),
        may("intensity", Part),
        may("valence", Signed),
        may("lastEvidence", Object(&THOUGHT)),
        may("extensions", Free),
    ],
);

static MOOD: Parts = closed(&[
    must("name", Text),
    must("value", Part),
    must("updatedAt", Instant),
    may("source", Text),
]);

static BIAS: Parts = closed(&[
    must("name", Text),
    must("value", Part),
    must("summary", Text),
    must("behavioralPull", Text),
    must("updatedAt", Instant),
]);

static STANCE: Parts = open_ended(
    "stanceKind",
    "customStanceKind",
    &[
        must("id", Text),
        must("status", Word(&STATUSES)),
        must("target", Object(&TARGET)),
        must("stanceKind", Word(&STANCES)),
        may("customStanceKind", Text),
        must("principle", Text),
        must("summary", Text),
        must("actionImplication", Text),
        must("updatedAt", Instant),
        may("intensity", Part),
        may("extensions", Free),
    ],
);
