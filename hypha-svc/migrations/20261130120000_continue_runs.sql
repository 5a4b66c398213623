-- Runs that continue others, and what a running task's agent starts. What is fixed at the start never changes, so the
-- index keeps no update off its page.
ALTER TABLE hypha.run
    ADD COLUMN parent_run_id uuid,
    -- the task of the parent that started it
    ADD COLUMN parent_n      integer,
    ADD COLUMN parent_i      integer,
    ADD COLUMN rerun_of      uuid,
    -- nodes taken over from the run that this one repeats, a bit each
    ADD COLUMN reused        bytea,
    ADD COLUMN reused_count  integer,
    -- days kept past its end; null: 30
    ADD COLUMN retain_days   smallint;

CREATE INDEX run_by_parent ON hypha.run (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- Set when nobody waits for the task any more: its worker is told to stop, and it is not tried again.
ALTER TABLE hypha.hot ADD COLUMN stop boolean NOT NULL DEFAULT false;

-- Runs whose parent was told to stop, until they are told too.
CREATE TABLE hypha.orphan (
    run_id   uuid   NOT NULL,
    grace_ms bigint NOT NULL,

    CONSTRAINT orphan_pk PRIMARY KEY (run_id)
);

-- When any sweeper last listened. A gap is our own deafness: no lease is lost to it.
CREATE TABLE hypha.pulse (
    one      boolean     NOT NULL DEFAULT true,
    heard_at timestamptz NOT NULL,

    CONSTRAINT pulse_pk PRIMARY KEY (one),
    CONSTRAINT pulse_is_one CHECK (one)
);

INSERT INTO hypha.pulse (heard_at) VALUES (hypha.now());

-- The gaps that were found.
CREATE TABLE hypha.outage (
    outage_no bigint      GENERATED ALWAYS AS IDENTITY,
    from_at   timestamptz NOT NULL,
    to_at     timestamptz NOT NULL,

    CONSTRAINT outage_pk PRIMARY KEY (outage_no),
    CONSTRAINT outage_goes_forward CHECK (from_at < to_at)
);

-- For the loop that forgets.
CREATE INDEX receipt_by_age ON hypha.receipt (created_at);
