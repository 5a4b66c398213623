-- One row for each workspace that spawns. It holds nothing: its lock is the first of those that count a spawn.
CREATE TABLE genesis.workspace (
    workspace_id text NOT NULL,

    CONSTRAINT workspace_pk PRIMARY KEY (workspace_id)
);

-- Every wish for an agent that was within the limits. Kept for as long as its agent, so that one request id is one agent for
-- ever, long after the receipt is forgotten.
CREATE TABLE genesis.spawn (
    workspace_id    text        NOT NULL,
    spawn_id        uuid        NOT NULL,
    template        text        NOT NULL COLLATE "C",
    -- What the request said of the template: its name, or what it was to offer.
    named           boolean     NOT NULL,
    requires        text[]      NOT NULL,
    parent_id       uuid,
    reason          text        NOT NULL,
    requested_by    text        NOT NULL,
    request_id      uuid        NOT NULL,
    state           text        NOT NULL,
    agent_id        uuid,
    requested_at    timestamptz NOT NULL,
    decided_at      timestamptz,
    decided_by      text        NOT NULL DEFAULT '',
    decision_reason text        NOT NULL DEFAULT '',

    CONSTRAINT spawn_pk PRIMARY KEY (workspace_id, spawn_id),
    CONSTRAINT spawn_request_unique UNIQUE (workspace_id, requested_by, request_id),
    CONSTRAINT spawn_state_known CHECK (state IN ('pending', 'spawned', 'denied')),
    CONSTRAINT spawn_agent_of_the_spawned CHECK ((state = 'spawned') = (agent_id IS NOT NULL))
);

-- For the limit within a minute, and for the list.
CREATE INDEX spawn_by_time ON genesis.spawn (workspace_id, requested_at);
