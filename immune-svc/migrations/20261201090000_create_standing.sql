-- The service's only clock. Tests replace this function to move time.
CREATE FUNCTION immune.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

-- Trust as it is now: the distance to its start halves with every full week in which nothing moved it.
-- It says what `cambium_immune::drifted` says; a test holds the two together.
CREATE FUNCTION immune.drifted(trust integer, start integer, moved_at timestamptz, at timestamptz) RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN start + (trust - start)
        / (1 << least(greatest(trunc(extract(epoch FROM at - moved_at)), 0)::bigint / 604800, 20)::integer);

-- What immune thinks of an agent. Scores are millionths.
CREATE TABLE immune.standing (
    workspace_id      text        NOT NULL,
    agent_id          uuid        NOT NULL,
    trust             integer     NOT NULL,
    trust_start       integer     NOT NULL,
    trust_moved_at    timestamptz NOT NULL,
    trust_seq         bigint      NOT NULL,
    generosity        integer     NOT NULL,
    generosity_seq    bigint      NOT NULL,
    health            integer     NOT NULL,
    health_seq        bigint      NOT NULL,
    -- What health is made of: two rates, and the milliseconds at full slots in each of ten minutes, the newest first.
    failures          integer     NOT NULL,
    losses            integer     NOT NULL,
    busy_minute       bigint      NOT NULL,
    busy_ms           integer[]   NOT NULL,
    -- A letter for each of the last outcomes, and how many there have been.
    recent            text        NOT NULL,
    settled           bigint      NOT NULL,
    is_overextended   boolean     NOT NULL,
    is_advised        boolean     NOT NULL,
    advice_seq        bigint      NOT NULL,
    -- It takes no new work.
    is_draining       boolean     NOT NULL,
    closed_at         timestamptz,
    -- The running quarantine.
    quarantine_id     uuid,
    quarantine_until  timestamptz,
    quarantine_count  integer     NOT NULL,
    -- Grows with each change that others are told of.
    seq               bigint      NOT NULL,
    updated_at        timestamptz NOT NULL,
    -- The transaction of the last change: watchers go on from the oldest that they could not see.
    changed_in        bigint      NOT NULL,

    CONSTRAINT standing_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT standing_trust_is_score CHECK (trust BETWEEN 0 AND 1000000),
    CONSTRAINT standing_generosity_is_score CHECK (generosity BETWEEN 0 AND 1000000),
    CONSTRAINT standing_health_is_score CHECK (health BETWEEN 0 AND 1000000),
    CONSTRAINT standing_quarantine_whole CHECK ((quarantine_id IS NULL) = (quarantine_until IS NULL))
) WITH (fillfactor = 70);

CREATE INDEX standing_changed ON immune.standing (workspace_id, changed_in);
CREATE INDEX standing_quarantined ON immune.standing (quarantine_until) WHERE quarantine_id IS NOT NULL;

-- What genesis told of an agent. It changes seldom, unlike its standing.
CREATE TABLE immune.agent (
    workspace_id text   NOT NULL,
    agent_id     uuid   NOT NULL,
    name         text   NOT NULL COLLATE "C",
    capabilities text[] NOT NULL,

    CONSTRAINT agent_pk PRIMARY KEY (workspace_id, agent_id)
);

CREATE INDEX agent_by_name ON immune.agent (workspace_id, name);
-- For the caps: who shares a capability.
CREATE INDEX agent_able ON immune.agent USING gin (capabilities);

-- Every step of every score, never changed. Replayed, it gives the standing.
CREATE TABLE immune.ledger (
    workspace_id   text        NOT NULL,
    agent_id       uuid        NOT NULL,
    -- 1 trust, 2 generosity, 3 health.
    score          smallint    NOT NULL,
    seq            bigint      NOT NULL,
    -- Counts the agent's rows over all scores.
    row_no         bigint      NOT NULL,
    event          text        NOT NULL,
    cause_id       text        NOT NULL,
    -- Of the cause, which may be long: the first half of its SHA-256.
    cause_key      uuid        NOT NULL,
    before         integer     NOT NULL,
    delta          integer     NOT NULL,
    after          integer     NOT NULL,
    policy_version bigint      NOT NULL,
    -- 1 hoarding detected, 2 overextension detected.
    action         smallint    NOT NULL,
    reason         text        NOT NULL,
    counterpart_id uuid,
    run_id         text        NOT NULL,
    occurred_at    timestamptz NOT NULL,
    recorded_at    timestamptz NOT NULL,

    CONSTRAINT ledger_pk PRIMARY KEY (workspace_id, agent_id, score, seq),
    -- The same fact never counts twice. The cause leads, so that no plan, made while the table was empty, takes the key above
    -- for as good and reads an agent's whole ledger.
    CONSTRAINT ledger_cause_unique UNIQUE (cause_key, agent_id, score, workspace_id),
    CONSTRAINT ledger_score_known CHECK (score BETWEEN 1 AND 3),
    CONSTRAINT ledger_before_is_score CHECK (before BETWEEN 0 AND 1000000),
    CONSTRAINT ledger_follows CHECK (after = least(greatest(before + delta, 0), 1000000))
);

CREATE FUNCTION immune.refuse_change() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'immune.% is append-only', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER ledger_append_only BEFORE UPDATE ON immune.ledger
    FOR EACH ROW EXECUTE FUNCTION immune.refuse_change();

-- How many of a pair's gratitudes, or of an agent's shares, were credited on a day.
CREATE TABLE immune.daily (
    workspace_id text    NOT NULL,
    giver_id     uuid    NOT NULL,
    -- Who used the output; all zeros where nobody knows.
    receiver_id  uuid    NOT NULL,
    -- 1 gratitude, 2 knowledge share.
    kind         smallint NOT NULL,
    day          date    NOT NULL,
    credited     integer NOT NULL,

    CONSTRAINT daily_pk PRIMARY KEY (workspace_id, giver_id, receiver_id, kind, day)
);

CREATE INDEX daily_by_age ON immune.daily (day);

-- The numbers of a workspace, each version for good. Without a row the defaults hold.
CREATE TABLE immune.policy (
    workspace_id          text        NOT NULL,
    version               bigint      NOT NULL,
    contribution_bonus    integer     NOT NULL,
    consumption_penalty   integer     NOT NULL,
    knowledge_share_bonus integer     NOT NULL,
    hoarding_threshold    integer     NOT NULL,
    overextension_check   boolean     NOT NULL,
    pair_daily_cap        integer     NOT NULL,
    share_daily_cap       integer     NOT NULL,
    put_by                text        NOT NULL,
    put_at                timestamptz NOT NULL,

    CONSTRAINT policy_pk PRIMARY KEY (workspace_id, version)
);
