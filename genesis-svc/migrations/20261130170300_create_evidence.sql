-- How an agent's tasks ended, as their employer saw it.
CREATE TABLE genesis.evidence (
    workspace_id text   NOT NULL,
    agent_id     uuid   NOT NULL,
    settled      bigint NOT NULL, -- all that was told of
    ended        bigint NOT NULL, -- without completions that came too late: nothing ended with those
    succeeded    bigint NOT NULL,

    CONSTRAINT evidence_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT evidence_adds_up CHECK (0 <= succeeded AND succeeded <= ended AND ended <= settled)
);

-- What happened more than once: ways in which tasks fail, and ways on which they go well.
CREATE TABLE genesis.tally (
    workspace_id text   NOT NULL,
    agent_id     uuid   NOT NULL,
    kind         text   NOT NULL,
    pattern      text   NOT NULL,
    ended        bigint NOT NULL,
    succeeded    bigint NOT NULL,

    CONSTRAINT tally_pk PRIMARY KEY (workspace_id, agent_id, kind, pattern),
    CONSTRAINT tally_kind_known CHECK (kind IN ('failure', 'routing'))
);

-- What immune last said of an agent.
CREATE TABLE genesis.standing (
    workspace_id    text        NOT NULL,
    agent_id        uuid        NOT NULL,
    seq             bigint      NOT NULL,
    is_quarantined  boolean     NOT NULL,
    quarantined_to  timestamptz, -- when it ends by itself

    CONSTRAINT standing_pk PRIMARY KEY (workspace_id, agent_id)
);

-- Signals that were applied. Kept for 30 days.
CREATE TABLE genesis.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL,

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);

CREATE INDEX inbox_by_age ON genesis.inbox (applied_at);
