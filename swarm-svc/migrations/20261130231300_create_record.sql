-- What minds wrote down. An id names its holder, so that no two minds share one.
CREATE TABLE swarm.document (
    workspace_id   text        NOT NULL,
    holder         text        NOT NULL COLLATE "C",
    id             text        NOT NULL COLLATE "C",
    kind           text        NOT NULL,
    payload        jsonb       NOT NULL,
    payload_sha256 text        NOT NULL,
    seq            bigint      NOT NULL,
    author         text        NOT NULL,
    turn_id        uuid,
    session_id     uuid,
    written_at     timestamptz NOT NULL,
    -- Of a resolution: what it ends.
    subject        text        GENERATED ALWAYS AS (CASE WHEN kind = 'resolution' THEN payload ->> 'subject' END) STORED,
    -- Of a stewardship.
    area           text        GENERATED ALWAYS AS (CASE WHEN kind = 'stewardship' THEN payload ->> 'area' END) STORED,

    CONSTRAINT document_pk PRIMARY KEY (workspace_id, id),
    CONSTRAINT document_seq_unique UNIQUE (workspace_id, holder, seq),
    CONSTRAINT document_digest_formed CHECK (payload_sha256 ~ '^[0-9a-f]{64}$')
);

CREATE INDEX document_by_subject ON swarm.document (workspace_id, subject) WHERE subject IS NOT NULL;
CREATE INDEX document_by_area ON swarm.document (workspace_id, area) WHERE area IS NOT NULL;
CREATE INDEX document_by_kind ON swarm.document (workspace_id, kind, written_at);
CREATE INDEX document_by_age ON swarm.document (workspace_id, written_at, id);
CREATE INDEX document_of_mind ON swarm.document (workspace_id, holder, written_at, id);
-- Who leads is read at each decision about a mind.
CREATE INDEX document_of_lead ON swarm.document (workspace_id)
    WHERE kind = 'ruling' AND payload ->> 'label' = 'swarm-lead' AND payload ->> 'authority' = 'standing';
-- Offers that nobody answered are looked for in all workspaces.
CREATE INDEX document_handed_on ON swarm.document (written_at) WHERE kind = 'hand_off';

CREATE TRIGGER document_never_changes BEFORE UPDATE ON swarm.document
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();

-- In force: no resolution in force names it. A resolution ends by one withdrawal, which nothing ends.
CREATE VIEW swarm.document_in_force AS
SELECT d.*
FROM swarm.document d
WHERE NOT EXISTS (
    SELECT FROM swarm.document r
    WHERE r.workspace_id = d.workspace_id AND r.subject = d.id
      AND NOT EXISTS (
          SELECT FROM swarm.document w
          WHERE w.workspace_id = r.workspace_id AND w.subject = r.id
            AND NOT EXISTS (
                SELECT FROM swarm.document v WHERE v.workspace_id = w.workspace_id AND v.subject = w.id
            )
      )
);

-- Taken out of documents, so that what cites something is found.
CREATE TABLE swarm.foreign_ref (
    workspace_id   text    NOT NULL,
    holder         text    NOT NULL COLLATE "C",
    document_id    text    NOT NULL COLLATE "C",
    n              integer NOT NULL,
    instance       text    NOT NULL COLLATE "C",
    kind           text    NOT NULL,
    id             text    NOT NULL COLLATE "C",
    payload_sha256 text    NOT NULL,

    CONSTRAINT foreign_ref_pk PRIMARY KEY (workspace_id, document_id, n)
);

CREATE INDEX foreign_ref_by_id ON swarm.foreign_ref (workspace_id, id);

CREATE TABLE swarm.steward (
    workspace_id text NOT NULL,
    area         text NOT NULL COLLATE "C",
    instance     text NOT NULL COLLATE "C",
    document_id  text NOT NULL COLLATE "C",

    CONSTRAINT steward_pk PRIMARY KEY (workspace_id, area)
);

CREATE TABLE swarm.review (
    workspace_id text NOT NULL,
    ruling_id    text NOT NULL COLLATE "C",
    holder       text NOT NULL COLLATE "C",
    review_on    date NOT NULL,
    cause        text NOT NULL,

    CONSTRAINT review_pk PRIMARY KEY (workspace_id, ruling_id),
    CONSTRAINT review_cause_known CHECK (cause IN ('at_write', 'second_mind'))
);

CREATE INDEX review_of_mind ON swarm.review (workspace_id, holder);
CREATE INDEX review_by_date ON swarm.review (workspace_id, review_on, ruling_id);

-- Work that somebody submitted.
CREATE TABLE swarm.work (
    workspace_id     text        NOT NULL,
    work_id          uuid        NOT NULL,
    title            text        NOT NULL,
    body             text        NOT NULL,
    refs             jsonb       NOT NULL,
    addressed        boolean     NOT NULL,
    holder           text        COLLATE "C",
    state            text        NOT NULL,
    submitted_by     text        NOT NULL,
    submitted_at     timestamptz NOT NULL,
    returned_by      text,
    returned_by_lead boolean     NOT NULL DEFAULT false,
    done_ref         text,
    offered_to       text        COLLATE "C",
    offer_id         text        COLLATE "C",
    offered_at       timestamptz,

    CONSTRAINT work_pk PRIMARY KEY (workspace_id, work_id),
    CONSTRAINT work_state_known CHECK (state IN ('unrouted', 'held', 'offered', 'done', 'withdrawn')),
    CONSTRAINT work_held_by_somebody CHECK ((holder IS NOT NULL) = (state IN ('held', 'offered'))),
    CONSTRAINT work_offered_to_somebody CHECK (
        (state = 'offered') = (offered_to IS NOT NULL AND offer_id IS NOT NULL AND offered_at IS NOT NULL)
    )
);

CREATE INDEX work_held ON swarm.work (workspace_id, holder, work_id) WHERE holder IS NOT NULL;
CREATE INDEX work_unrouted ON swarm.work (workspace_id, work_id) WHERE state = 'unrouted';
CREATE INDEX work_offered ON swarm.work (workspace_id, offered_to) WHERE state = 'offered';
