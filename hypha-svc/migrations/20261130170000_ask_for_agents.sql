-- Runs whose graphs let agents be spawned, from their start until they have ended. Nobody else is looked through for work that
-- nobody can do.
CREATE TABLE hypha.spawning (
    run_id uuid NOT NULL,

    CONSTRAINT spawning_pk PRIMARY KEY (run_id)
);

-- Nodes of theirs that nobody can do, and what came of asking for an agent that can. One request for each, for ever.
CREATE TABLE hypha.spawn_ask (
    run_id   uuid        NOT NULL,
    n        integer     NOT NULL,
    -- when it is asked for the first time, or again
    next_at  timestamptz NOT NULL,
    agent_id uuid,
    -- why there is none: a reason for programs, a sentence for people
    code     text        NOT NULL DEFAULT '',
    detail   text        NOT NULL DEFAULT '',

    CONSTRAINT spawn_ask_pk PRIMARY KEY (run_id, n)
);
