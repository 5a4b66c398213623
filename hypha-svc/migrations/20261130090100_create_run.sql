-- Executions of graphs. What never changes stands first and what every batch changes stands last:
-- the write-ahead log then holds only the changed tail of the row. No index on what changes, so updates stay on the page.
CREATE TABLE hypha.run (
    run_id          uuid        NOT NULL,
    workspace_id    text        NOT NULL,
    request_key     text        NOT NULL,
    body_hash       bytea       NOT NULL,
    graph_hash      bytea       NOT NULL,
    graph_name      text        NOT NULL,
    graph_version   integer     NOT NULL,
    started_at      timestamptz NOT NULL,
    input           bytea       NOT NULL,
    -- 1 running, 2 cancelling, 3 succeeded, 4 failed, 5 cancelled
    state           smallint    NOT NULL DEFAULT 1,
    paused          boolean     NOT NULL DEFAULT false,
    -- set by an unhandled failure in a graph that fails fast: nothing new starts
    failing         boolean     NOT NULL DEFAULT false,
    -- nodes and members that have not ended; the run ends with the transaction that brings it to 0
    open            integer     NOT NULL,
    seq             integer     NOT NULL,
    succeeded       integer     NOT NULL DEFAULT 0,
    failed          integer     NOT NULL DEFAULT 0,
    skipped         integer     NOT NULL DEFAULT 0,
    omitted         integer     NOT NULL DEFAULT 0,
    cancelled       integer     NOT NULL DEFAULT 0,
    total           integer     NOT NULL,
    unhandled       integer     NOT NULL DEFAULT 0,
    gratitude       integer     NOT NULL DEFAULT 0,
    cost_micro_usd  bigint      NOT NULL DEFAULT 0,
    -- attempts whose cost was declared or not stated
    unmeasured      integer     NOT NULL DEFAULT 0,
    -- attempts that consumed something and ended without an output: their agents may be dead ends
    in_vain         integer     NOT NULL DEFAULT 0,
    ended_at        timestamptz,
    chain_length    integer,
    chain_breadth   integer,
    total_handoffs  integer,
    consumed_outputs integer,
    total_outputs   integer,
    dead_ends       integer,

    CONSTRAINT run_pk PRIMARY KEY (run_id),
    CONSTRAINT run_key_once UNIQUE (workspace_id, request_key),
    CONSTRAINT run_open_not_negative CHECK (open >= 0),
    CONSTRAINT run_ended_has_nothing_open CHECK ((ended_at IS NULL) = (state < 3))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX run_by_workspace ON hypha.run (workspace_id, run_id);

-- Work that is ready, leased or waiting for a moment. Ended rows are deleted, so the table stays small.
CREATE TABLE hypha.hot (
    run_id      uuid     NOT NULL,
    n           integer  NOT NULL,
    -- fan-out member, from 1; 0 is the node itself
    i           integer  NOT NULL,
    -- 0 ready, 1 leased, 2 backing off, 3 parked, 4 deciding, 5 held (ready in a paused run)
    state       smallint NOT NULL,
    prio        smallint NOT NULL,
    queue       integer  NOT NULL,
    -- microseconds at which it became ready: the longest waiting is served first
    turn        bigint   NOT NULL,
    epoch       integer  NOT NULL,
    failures    smallint NOT NULL,
    losses      smallint NOT NULL,
    lease_id    uuid,
    reg         integer,
    agent_id    uuid,
    -- end of the lease, of the back-off or of the park
    until       timestamptz,
    -- the first of its queue, run and total timeouts
    deadline    timestamptz,
    total_until timestamptz,
    -- nodes whose output it takes, 4 bytes each; null: all that the graph says
    sources     bytea,
    -- whether a park row waits for the next attempt
    resumed     boolean  NOT NULL DEFAULT false,

    CONSTRAINT hot_pk PRIMARY KEY (run_id, n, i)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_threshold = 2000000000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX hot_ready ON hypha.hot (queue, prio, turn, run_id, n, i) WHERE state = 0;
-- For the sweep. Heartbeats move `until`, which no index holds.
CREATE INDEX hot_timed ON hypha.hot (state) WHERE state > 0;
CREATE INDEX hot_deadline ON hypha.hot (deadline) WHERE deadline IS NOT NULL;

-- How many edges into a node have settled. A node with a single edge has no row.
CREATE TABLE hypha.tally (
    run_id uuid    NOT NULL,
    n      integer NOT NULL,
    fired  integer NOT NULL,
    dead   integer NOT NULL,

    CONSTRAINT tally_pk PRIMARY KEY (run_id, n)
) WITH (fillfactor = 70);

-- Which edges fired into a node whose join is undecided and whose sources do not follow from the graph alone.
CREATE TABLE hypha.arrival (
    run_id    uuid    NOT NULL,
    n         integer NOT NULL,
    edge      integer NOT NULL,
    -- whether the upstream task succeeded, so that its output may be handed on
    succeeded boolean NOT NULL,

    CONSTRAINT arrival_pk PRIMARY KEY (run_id, n, edge)
);

-- Members of a fan-out that have ended.
CREATE TABLE hypha.fan (
    run_id    uuid    NOT NULL,
    n         integer NOT NULL,
    total     integer NOT NULL,
    ended     integer NOT NULL,
    failed    integer NOT NULL,
    cancelled integer NOT NULL,

    CONSTRAINT fan_pk PRIMARY KEY (run_id, n)
) WITH (fillfactor = 70);

CREATE TABLE hypha.fan_item (
    run_id uuid    NOT NULL,
    n      integer NOT NULL,
    i      integer NOT NULL,
    item   bytea   NOT NULL,

    CONSTRAINT fan_item_pk PRIMARY KEY (run_id, n, i)
);

-- What a parked task waits for, and what its next attempt gets.
CREATE TABLE hypha.park (
    run_id     uuid    NOT NULL,
    n          integer NOT NULL,
    i          integer NOT NULL,
    signal     text    NOT NULL,
    checkpoint bytea   NOT NULL,
    payload    bytea,
    timed_out  boolean NOT NULL DEFAULT false,

    CONSTRAINT park_pk PRIMARY KEY (run_id, n, i)
);

-- How each task ended. Never changed.
CREATE TABLE hypha.task_end (
    run_id         uuid        NOT NULL,
    n              integer     NOT NULL,
    i              integer     NOT NULL,
    -- 6 succeeded, 7 failed, 8 skipped, 9 omitted, 10 cancelled
    state          smallint    NOT NULL,
    epoch          integer     NOT NULL,
    failures       smallint    NOT NULL,
    losses         smallint    NOT NULL,
    agent_id       uuid,
    -- the accepted attempt is its own receipt: its lease and a hash of its body
    lease_id       uuid,
    body_hash      bigint,
    at             timestamptz NOT NULL,
    cost_micro_usd bigint,
    measured       boolean,
    sources        bytea,
    code           text,
    detail         text,
    output         bytea,

    CONSTRAINT task_end_pk PRIMARY KEY (run_id, n, i),
    CONSTRAINT task_end_is_an_end CHECK (state BETWEEN 6 AND 10)
);

-- Attempts that ended without an output. Those that ended with one are in task_end.
CREATE TABLE hypha.attempt (
    run_id    uuid        NOT NULL,
    n         integer     NOT NULL,
    i         integer     NOT NULL,
    epoch     integer     NOT NULL,
    lease_id  uuid        NOT NULL,
    agent_id  uuid        NOT NULL,
    -- failed, lost, parked, released or revoked
    ended_as  text        NOT NULL,
    -- where the task went, for a repeated call
    went      smallint    NOT NULL,
    body_hash bigint,
    -- whether it had at least one data input
    consumed  boolean     NOT NULL,
    at        timestamptz NOT NULL,
    code      text,
    detail    text,

    CONSTRAINT attempt_pk PRIMARY KEY (run_id, n, i, epoch)
);

-- Transitions of a run, one row per batch: `k` of them, the last one numbered `seq`.
CREATE TABLE hypha.event (
    run_id uuid        NOT NULL,
    seq    integer     NOT NULL,
    k      integer     NOT NULL,
    at     timestamptz NOT NULL,
    body   bytea       NOT NULL,

    CONSTRAINT event_pk PRIMARY KEY (run_id, seq)
);

-- Signals that no task has taken yet. Without a run: sent to a key ahead of its start.
CREATE TABLE hypha.signal (
    signal_no    bigint      GENERATED ALWAYS AS IDENTITY,
    workspace_id text        NOT NULL,
    run_id       uuid,
    request_key  text        NOT NULL,
    name         text        NOT NULL,
    payload      bytea       NOT NULL,
    at           timestamptz NOT NULL,

    CONSTRAINT signal_pk PRIMARY KEY (signal_no)
);

CREATE INDEX signal_of_run ON hypha.signal (run_id, name) WHERE run_id IS NOT NULL;
CREATE INDEX signal_ahead ON hypha.signal (workspace_id, request_key) WHERE run_id IS NULL;
