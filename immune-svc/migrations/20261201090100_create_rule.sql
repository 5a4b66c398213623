-- Rules of a workspace; a built-in one stands here once somebody has changed it.
CREATE TABLE immune.rule (
    workspace_id text        NOT NULL,
    rule_id      text        NOT NULL COLLATE "C",
    signal_type  text        NOT NULL,
    threshold    integer     NOT NULL,
    severity     integer     NOT NULL,
    response     text        NOT NULL,
    -- One of the two is 0.
    window_ms    bigint      NOT NULL,
    of_last      integer     NOT NULL,
    min_count    integer     NOT NULL,
    is_dry_run   boolean     NOT NULL,
    is_enabled   boolean     NOT NULL,
    version      bigint      NOT NULL,
    put_by       text        NOT NULL,
    put_at       timestamptz NOT NULL,

    CONSTRAINT rule_pk PRIMARY KEY (workspace_id, rule_id),
    CONSTRAINT rule_response_known CHECK (response IN ('log', 'alert', 'quarantine'))
);

-- What each rule has counted of each agent and not spent yet.
CREATE TABLE immune.tally (
    workspace_id text     NOT NULL,
    agent_id     uuid     NOT NULL,
    rule_id      text     NOT NULL,
    -- Microseconds since 1970, ascending.
    times        bigint[] NOT NULL,
    spent        bigint   NOT NULL,

    CONSTRAINT tally_pk PRIMARY KEY (workspace_id, agent_id, rule_id)
);

-- Signals that rules count, kept for people and for dry runs. What only the ledger needs is not here.
CREATE TABLE immune.heard (
    workspace_id text        NOT NULL,
    agent_id     uuid        NOT NULL,
    signal_type  text        NOT NULL,
    cause_key    uuid        NOT NULL,
    cause_id     text        NOT NULL,
    intensity    integer     NOT NULL,
    occurred_at  timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,

    CONSTRAINT heard_pk PRIMARY KEY (cause_key, agent_id, signal_type, workspace_id)
);

CREATE INDEX heard_by_type ON immune.heard (workspace_id, signal_type, occurred_at);
CREATE INDEX heard_by_age ON immune.heard (recorded_at);

-- Every firing of a rule.
CREATE TABLE immune.anomaly (
    anomaly_id   uuid        NOT NULL,
    workspace_id text        NOT NULL,
    agent_id     uuid        NOT NULL,
    rule_id      text        NOT NULL,
    severity     integer     NOT NULL,
    response     text        NOT NULL,
    is_dry_run   boolean     NOT NULL,
    detail       text        NOT NULL,
    occurred_at  timestamptz NOT NULL,

    CONSTRAINT anomaly_pk PRIMARY KEY (anomaly_id)
);

CREATE INDEX anomaly_newest ON immune.anomaly (workspace_id, occurred_at, anomaly_id);
CREATE INDEX anomaly_of_agent ON immune.anomaly (workspace_id, agent_id, occurred_at, anomaly_id);

-- What a person should look at, counted per workspace without gaps.
CREATE TABLE immune.alert (
    workspace_id    text        NOT NULL,
    seq             bigint      NOT NULL,
    alert_id        uuid        NOT NULL,
    source          text        NOT NULL,
    agent_id        uuid        NOT NULL,
    severity        integer     NOT NULL,
    text            text        NOT NULL,
    raised_at       timestamptz NOT NULL,
    acknowledged_at timestamptz,
    acknowledged_by text        NOT NULL DEFAULT '',

    CONSTRAINT alert_pk PRIMARY KEY (workspace_id, seq),
    CONSTRAINT alert_id_unique UNIQUE (alert_id)
);

CREATE INDEX alert_open ON immune.alert (workspace_id, seq) WHERE acknowledged_at IS NULL;

CREATE TABLE immune.quarantine (
    quarantine_id  uuid        NOT NULL,
    workspace_id   text        NOT NULL,
    agent_id       uuid        NOT NULL,
    reason         text        NOT NULL,
    actor          text        NOT NULL,
    started_at     timestamptz NOT NULL,
    -- When it ends by itself, or did end.
    ends_at        timestamptz NOT NULL,
    is_active      boolean     NOT NULL,
    count          integer     NOT NULL,
    over_cap       boolean     NOT NULL,
    release_reason text        NOT NULL,

    CONSTRAINT quarantine_pk PRIMARY KEY (quarantine_id)
);

CREATE UNIQUE INDEX quarantine_one_active ON immune.quarantine (workspace_id, agent_id) WHERE is_active;
CREATE INDEX quarantine_newest ON immune.quarantine (workspace_id, started_at, quarantine_id);
