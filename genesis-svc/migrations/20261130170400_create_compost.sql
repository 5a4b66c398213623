-- What the life of an agent left behind: one row for each that has retired, written once.
CREATE TABLE genesis.compost (
    workspace_id     text        NOT NULL,
    agent_id         uuid        NOT NULL,
    agent_name       text        NOT NULL,
    template         text        COLLATE "C",
    template_version integer,
    root_id          uuid        NOT NULL,
    number           bigint      NOT NULL, -- counts the composts of the template; 0 without one
    success_rate     integer     NOT NULL, -- in millionths
    succeeded        bigint      NOT NULL,
    ended            bigint      NOT NULL,
    inherited_ids    uuid[]      NOT NULL,
    held_out_ids     uuid[]      NOT NULL,
    enrolled_at      timestamptz NOT NULL,
    composted_at     timestamptz NOT NULL,
    match_version    integer     NOT NULL,
    match_threshold  integer     NOT NULL,
    is_incomplete    boolean     NOT NULL,

    CONSTRAINT compost_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT compost_rate_within_bounds CHECK (success_rate BETWEEN 0 AND 1000000)
);

CREATE INDEX compost_by_time ON genesis.compost (workspace_id, composted_at);
CREATE INDEX compost_by_template ON genesis.compost (workspace_id, template, composted_at);

-- The patterns of those records. One that waits for company is found by its trigrams, as numbers that the rules give them:
-- pg_trgm has none for most scripts under the locale C, and another version than the rules would leave matches out.
CREATE TABLE genesis.pattern (
    workspace_id text     NOT NULL,
    agent_id     uuid     NOT NULL,
    position     smallint NOT NULL, -- its place in the record
    template     text     COLLATE "C",
    kind         text     NOT NULL,
    pattern      text     NOT NULL,
    normal       text     NOT NULL,
    trigrams     integer[] NOT NULL,
    size         integer  NOT NULL, -- how many trigrams, before some shared a number
    is_evidence  boolean  NOT NULL,
    times        bigint   NOT NULL,
    candidate    text     NOT NULL,
    root_id      uuid     NOT NULL, -- of its agent, as is the next
    success_rate integer  NOT NULL,
    number       bigint   NOT NULL, -- of its record

    CONSTRAINT pattern_pk PRIMARY KEY (workspace_id, agent_id, position),
    CONSTRAINT pattern_place_within_limit CHECK (position BETWEEN 0 AND 49),
    CONSTRAINT pattern_within_limit CHECK (char_length(pattern) BETWEEN 1 AND 500),
    CONSTRAINT pattern_kind_known CHECK (kind IN ('failure', 'routing')),
    CONSTRAINT pattern_candidate_known CHECK (candidate IN ('none', 'waiting', 'promoted', 'withdrawn'))
);

CREATE INDEX pattern_waiting ON genesis.pattern USING gin (trigrams) WHERE candidate = 'waiting';
CREATE INDEX pattern_waiting_alike ON genesis.pattern (workspace_id, template, md5(normal)) WHERE candidate = 'waiting';

-- What a template has learned. One that is gone stays as history.
CREATE TABLE genesis.learning (
    workspace_id  text        NOT NULL,
    learning_id   uuid        NOT NULL,
    template      text        NOT NULL COLLATE "C",
    kind          text        NOT NULL,
    pattern       text        NOT NULL,
    voices        integer     NOT NULL, -- lineages that have confirmed it
    success_sum   bigint      NOT NULL, -- of their agents' success rates, in millionths
    losses        integer     NOT NULL DEFAULT 0,
    correlation   integer     NOT NULL, -- follows from the three above; stored for whoever sorts and for fsck
    first_at      timestamptz NOT NULL,
    confirmed_at  timestamptz NOT NULL,
    confirmed_in  bigint      NOT NULL, -- the compost of the template that confirmed or refreshed it last
    match_version integer     NOT NULL,
    state         text        NOT NULL,
    removed_at    timestamptz,
    remove_reason text        NOT NULL DEFAULT '',
    removed_by    text        NOT NULL DEFAULT '',
    is_flagged    boolean     NOT NULL DEFAULT false,

    CONSTRAINT learning_pk PRIMARY KEY (workspace_id, learning_id),
    CONSTRAINT learning_kind_known CHECK (kind IN ('failure', 'routing')),
    CONSTRAINT learning_state_known CHECK (state IN ('active', 'pruned', 'rolled_back')),
    CONSTRAINT learning_needs_three_voices CHECK (voices >= 3),
    CONSTRAINT learning_within_bounds CHECK (correlation BETWEEN 0 AND 1000000 AND losses >= 0)
);

CREATE INDEX learning_by_template ON genesis.learning (workspace_id, template, state);

-- Who confirmed what: one agent of each lineage.
CREATE TABLE genesis.confirmation (
    workspace_id text        NOT NULL,
    learning_id  uuid        NOT NULL,
    root_id      uuid        NOT NULL,
    agent_id     uuid        NOT NULL,
    success_rate integer     NOT NULL,
    pattern      text        NOT NULL,
    confirmed_at timestamptz NOT NULL,
    is_flagged   boolean     NOT NULL DEFAULT false,

    CONSTRAINT confirmation_pk PRIMARY KEY (workspace_id, learning_id, root_id),
    CONSTRAINT confirmation_above_the_gate CHECK (success_rate > 800000)
);

CREATE INDEX confirmation_by_agent ON genesis.confirmation (workspace_id, agent_id);
