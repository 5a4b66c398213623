-- What agents are made from. The head holds what changes with the lives of its agents; what a version says never changes.
CREATE TABLE genesis.template (
    workspace_id text        NOT NULL,
    name         text        NOT NULL COLLATE "C",
    version      integer     NOT NULL, -- the current one
    -- Agents that have not retired, and spawns that wait: a spawn is counted under the lock of this row.
    live_agents  integer     NOT NULL DEFAULT 0,
    composts     bigint      NOT NULL DEFAULT 0, -- how many of its agents were composted
    -- What a spawn copies: the active learnings as a JSON list, so that a spawn reads no other row.
    learnings    text        NOT NULL DEFAULT '[]',

    CONSTRAINT template_pk PRIMARY KEY (workspace_id, name),
    CONSTRAINT template_counts_not_negative CHECK (live_agents >= 0 AND composts >= 0)
);

CREATE TABLE genesis.template_version (
    workspace_id      text        NOT NULL,
    name              text        NOT NULL COLLATE "C",
    version           integer     NOT NULL,
    role              text        NOT NULL,
    instructions      text        NOT NULL,
    capabilities      text[]      NOT NULL,
    config            text        NOT NULL, -- JSON as it was given: jsonb would sort its keys
    max_generation    integer     NOT NULL, -- 0: as the house allows, as are the next two
    max_live_children integer     NOT NULL,
    max_live_agents   integer     NOT NULL,
    serves_minds      text[]      NOT NULL,
    requires_approval boolean     NOT NULL,
    match_threshold   integer     NOT NULL, -- in millionths, as is the next
    holdout_share     integer     NOT NULL,
    created_at        timestamptz NOT NULL,
    created_by        text        NOT NULL,

    CONSTRAINT template_version_pk PRIMARY KEY (workspace_id, name, version),
    CONSTRAINT template_version_counts_from_1 CHECK (version >= 1),
    CONSTRAINT template_version_capabilities_within_limit CHECK (cardinality(capabilities) <= 100),
    CONSTRAINT template_version_threshold_within_bounds CHECK (match_threshold BETWEEN 500000 AND 1000000),
    CONSTRAINT template_version_share_within_bounds CHECK (holdout_share BETWEEN 0 AND 1000000)
);
