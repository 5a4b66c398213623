-- Runs for minds' turns. What a run is under is fixed at its start; a run without a turn has a row as before.
ALTER TABLE hypha.run
    ADD COLUMN turn_id  uuid,
    -- the mind whose turn it is
    ADD COLUMN instance text;

CREATE INDEX run_by_turn ON hypha.run (workspace_id, turn_id) WHERE turn_id IS NOT NULL;

-- Turns that a run was started for, or that were withdrawn before one came. A row is locked after the runs that its
-- transaction locks, and before any key is taken.
CREATE TABLE hypha.turn (
    workspace_id       text    NOT NULL,
    turn_id            uuid    NOT NULL,
    -- the run that was started for the turn itself; null, as are the next two: withdrawn before it came
    root_run_id        uuid,
    instance           text,
    cap_micro_usd      bigint,
    -- runs under it that have not ended; the transaction that brings it to 0 ends the turn
    open_runs          integer NOT NULL DEFAULT 0,
    metered_micro_usd  bigint  NOT NULL DEFAULT 0,
    declared_micro_usd bigint  NOT NULL DEFAULT 0,
    -- attempts whose cost was declared or not stated
    unmeasured         bigint  NOT NULL DEFAULT 0,
    -- how the root run ended, as hypha.run numbers it
    outcome            smallint,
    -- nothing starts under it, and its key is spent
    withdrawn          boolean NOT NULL DEFAULT false,
    -- set once its runs are to stop: since it was withdrawn, or its cap was reached
    stop_grace_ms      bigint,
    stop_reason        text    NOT NULL DEFAULT '',
    ended_at           timestamptz,

    CONSTRAINT turn_pk PRIMARY KEY (workspace_id, turn_id),
    CONSTRAINT turn_open_not_negative CHECK (open_runs >= 0),
    CONSTRAINT turn_ended_has_nothing_open CHECK ((ended_at IS NULL) = (open_runs > 0)),
    CONSTRAINT turn_root_is_whole CHECK ((root_run_id IS NULL) = (instance IS NULL)
        AND (root_run_id IS NULL) = (cap_micro_usd IS NULL))
) WITH (fillfactor = 70);

-- For whoever stops what goes on under a turn that is to stop, for whoever asks who holds what, and for the loop that forgets.
CREATE INDEX turn_stopping ON hypha.turn (workspace_id, turn_id) WHERE stop_grace_ms IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turn_open ON hypha.turn (workspace_id, turn_id) WHERE ended_at IS NULL;
CREATE INDEX turn_by_end ON hypha.turn (ended_at) WHERE ended_at IS NOT NULL;

-- The minds whose turns' tasks an agent may be given; `*` is every one.
ALTER TABLE hypha.agent ADD COLUMN serves_minds text[] NOT NULL DEFAULT '{}';

-- Work under a turn waits apart: only for agents that serve its mind. Empty: for anybody.
ALTER TABLE hypha.queue
    ADD COLUMN mind text NOT NULL DEFAULT '',
    DROP CONSTRAINT queue_once,
    ADD CONSTRAINT queue_once UNIQUE (workspace_id, requires, mind);
