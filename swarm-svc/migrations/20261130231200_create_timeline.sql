-- The pace's money. Hard state: its row lock is held by every scheduler and every settlement.
CREATE TABLE swarm.bucket (
    workspace_id text        NOT NULL,
    bucket       bigint      NOT NULL,
    refill_rem   bigint      NOT NULL,
    refilled_at  timestamptz NOT NULL,

    CONSTRAINT bucket_pk PRIMARY KEY (workspace_id)
);

CREATE TABLE swarm.bucket_event (
    workspace_id text        NOT NULL,
    seq          bigint      NOT NULL,
    kind         text        NOT NULL,
    before       bigint      NOT NULL,
    after        bigint      NOT NULL,
    at           timestamptz NOT NULL,
    turn_id      uuid,

    CONSTRAINT bucket_event_pk PRIMARY KEY (workspace_id, seq),
    CONSTRAINT bucket_event_kind_known CHECK (kind IN ('launch', 'settle', 'dial', 'lost', 'base'))
);

-- Soft state: losing it costs a round.
CREATE TABLE swarm.timeline (
    workspace_id text   NOT NULL,
    min_vtime    bigint NOT NULL,

    CONSTRAINT timeline_pk PRIMARY KEY (workspace_id)
);

CREATE TABLE swarm.timeline_mind (
    workspace_id text    NOT NULL,
    instance     text    NOT NULL COLLATE "C",
    vtime        bigint  NOT NULL,
    member       boolean NOT NULL,
    -- After loans, as of the last sync; 0 without a share.
    eff_ppm      bigint  NOT NULL,

    CONSTRAINT timeline_mind_pk PRIMARY KEY (workspace_id, instance)
);

-- The order of turns.
CREATE INDEX timeline_mind_order ON swarm.timeline_mind (workspace_id, vtime, eff_ppm DESC, instance) WHERE member;

CREATE TABLE swarm.vtime_event (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    seq          bigint      NOT NULL,
    -- Among the events of all minds.
    n            bigint      NOT NULL,
    kind         text        NOT NULL,
    before       bigint      NOT NULL,
    after        bigint      NOT NULL,
    at           timestamptz NOT NULL,
    turn_id      uuid,

    CONSTRAINT vtime_event_pk PRIMARY KEY (workspace_id, instance, seq),
    CONSTRAINT vtime_event_n_unique UNIQUE (workspace_id, n),
    CONSTRAINT vtime_event_kind_known CHECK (kind IN ('charge', 'clamp', 'reset', 'base'))
);

CREATE TABLE swarm.turn (
    workspace_id    text        NOT NULL,
    turn_id         uuid        NOT NULL,
    instance        text        NOT NULL COLLATE "C",
    epoch           bigint      NOT NULL,
    slot            integer     NOT NULL,
    state           text        NOT NULL,
    outcome         text,
    cap             bigint      NOT NULL,
    share_ppm       bigint      NOT NULL,
    haste_ppm       bigint      NOT NULL,
    floor           bigint      NOT NULL,
    reserve         text        NOT NULL,
    -- As of the launch, its graph's version pinned once the run has started.
    target          jsonb       NOT NULL,
    external_holder text,
    run_id          uuid,
    launched_at     timestamptz NOT NULL,
    alive_until     timestamptz NOT NULL,
    deadline        timestamptz NOT NULL,
    ended_at        timestamptz,
    -- hypha is still to be told that nothing more of it may run.
    closing         boolean     NOT NULL DEFAULT false,
    -- The persona's version as the brief told it.
    persona_version integer,

    CONSTRAINT turn_pk PRIMARY KEY (workspace_id, turn_id),
    CONSTRAINT turn_state_known CHECK (state IN ('granted', 'running', 'settled', 'withdrawn')),
    CONSTRAINT turn_outcome_known CHECK (outcome IN ('ended', 'orphaned', 'overdue', 'late_start')),
    CONSTRAINT turn_ends CHECK ((ended_at IS NULL) = (state IN ('granted', 'running')))
);

-- No race can pass the slots, nor give a mind two turns: these refuse it.
CREATE UNIQUE INDEX turn_slot_taken ON swarm.turn (workspace_id, slot) WHERE state IN ('granted', 'running');
CREATE UNIQUE INDEX turn_mind_live ON swarm.turn (workspace_id, instance) WHERE state IN ('granted', 'running');
CREATE INDEX turn_live ON swarm.turn (workspace_id, launched_at) WHERE state IN ('granted', 'running');
CREATE INDEX turn_closing ON swarm.turn (workspace_id, turn_id) WHERE closing;
CREATE INDEX turn_of_mind ON swarm.turn (workspace_id, instance, turn_id);

CREATE TABLE swarm.grant (
    workspace_id text    NOT NULL,
    turn_id      uuid    NOT NULL,
    bucket       bigint  NOT NULL,
    reserved     bigint  NOT NULL,
    k            integer NOT NULL,
    live         integer NOT NULL,
    candidates   jsonb   NOT NULL,
    passed_over  jsonb   NOT NULL,
    -- How many vtime events of the swarm came before, so that the order can be replayed.
    vtime_seq    bigint  NOT NULL,

    CONSTRAINT grant_pk PRIMARY KEY (workspace_id, turn_id)
);

CREATE TABLE swarm.reservation (
    workspace_id  text   NOT NULL,
    turn_id       uuid   NOT NULL,
    amount        bigint NOT NULL,
    -- The day of the launch: a turn belongs to the period that holds it.
    wallet_period date   NOT NULL,
    closed_at     timestamptz,

    CONSTRAINT reservation_pk PRIMARY KEY (workspace_id, turn_id)
);

CREATE INDEX reservation_open ON swarm.reservation (workspace_id) INCLUDE (amount, wallet_period) WHERE closed_at IS NULL;

CREATE TABLE swarm.charge (
    workspace_id text        NOT NULL,
    turn_id      uuid        NOT NULL,
    cost         bigint      NOT NULL,
    measured     boolean     NOT NULL,
    declared     bigint,
    vdelta       bigint      NOT NULL,
    source       text        NOT NULL,
    overrun      boolean     NOT NULL,
    settled_at   timestamptz NOT NULL,

    CONSTRAINT charge_pk PRIMARY KEY (workspace_id, turn_id),
    CONSTRAINT charge_not_negative CHECK (cost >= 0 AND vdelta >= 0),
    CONSTRAINT charge_source_known CHECK (source IN ('run', 'meter', 'sweep'))
);

CREATE INDEX charge_by_time ON swarm.charge (workspace_id, settled_at);

CREATE TRIGGER grant_never_changes BEFORE UPDATE ON swarm.grant
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();
CREATE TRIGGER charge_never_changes BEFORE UPDATE ON swarm.charge
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();

-- The charges of each day's launches, so that a period's sum reads at most 31 rows. Written with the charge.
CREATE TABLE swarm.spending (
    workspace_id text   NOT NULL,
    day          date   NOT NULL,
    spent        bigint NOT NULL,

    CONSTRAINT spending_pk PRIMARY KEY (workspace_id, day)
);
