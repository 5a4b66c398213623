-- The service's only clock. Tests replace this function to move time.
CREATE FUNCTION swarm.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

-- What was written once stays as it was: documents, versions, receipts, grants, charges. Retention deletes, and nothing updates.
CREATE FUNCTION swarm.refuse_update() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of %.% never change', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

-- The last number of each log that counts without gaps. Its row lock is what orders the log's writers by their commits.
CREATE TABLE swarm.log_head (
    workspace_id text   NOT NULL,
    log          text   NOT NULL COLLATE "C",
    seq          bigint NOT NULL,

    CONSTRAINT log_head_pk PRIMARY KEY (workspace_id, log)
);

CREATE FUNCTION swarm.next_seq(workspace text, log_name text) RETURNS bigint
    LANGUAGE sql VOLATILE AS $$
    INSERT INTO swarm.log_head AS head (workspace_id, log, seq)
    VALUES (workspace, log_name, 1)
    ON CONFLICT (workspace_id, log) DO UPDATE SET seq = head.seq + 1
    RETURNING seq
$$;

-- Names sort by bytes, whatever the server's locale: pages are cut by them, and ties of turns are broken by them.
CREATE TABLE swarm.mind (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    display_name text        NOT NULL,
    mission      text        NOT NULL,
    host         text,
    state        text        NOT NULL,
    target       jsonb,
    proposed_by  text        NOT NULL,
    reason       text        NOT NULL DEFAULT '',
    opened_at    timestamptz,
    closed_at    timestamptz,
    moved_to     text,

    CONSTRAINT mind_pk PRIMARY KEY (workspace_id, instance),
    CONSTRAINT mind_instance_formed CHECK (instance ~ '^[a-z][a-z0-9-]{0,47}$'),
    CONSTRAINT mind_state_known CHECK (state IN ('proposed', 'declined', 'open', 'retired', 'moved')),
    CONSTRAINT mind_opened_once CHECK ((opened_at IS NULL) = (state IN ('proposed', 'declined')))
);

-- What a mind decides for itself.
CREATE TABLE swarm.agenda (
    workspace_id        text        NOT NULL,
    instance            text        NOT NULL COLLATE "C",
    wakes               text        NOT NULL,
    wake_at             timestamptz,
    rest_until          timestamptz,
    retirement_asked_at timestamptz,
    retirement_reason   text        NOT NULL DEFAULT '',

    CONSTRAINT agenda_pk PRIMARY KEY (workspace_id, instance),
    CONSTRAINT agenda_wakes_known CHECK (wakes IN ('work', 'always'))
);

-- What is remembered of a mind's launches. Hard state: the epoch fences off the bodies of earlier ones.
CREATE TABLE swarm.launch (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    epoch        bigint      NOT NULL DEFAULT 0,
    launched_at  timestamptz,
    last_run_at  timestamptz,
    reason_at    timestamptz,
    retry_at     timestamptz,
    fails        integer     NOT NULL DEFAULT 0,
    -- When its place on the timeline may next change. Whoever changes what that depends on sets it to now.
    due_at       timestamptz,

    CONSTRAINT launch_pk PRIMARY KEY (workspace_id, instance)
);

CREATE INDEX launch_due ON swarm.launch (workspace_id, due_at) WHERE due_at IS NOT NULL;
