-- A copy of what genesis says of agents, so that assigning work needs no call.
CREATE TABLE hypha.agent (
    agent_id     uuid   NOT NULL,
    workspace_id text   NOT NULL,
    name         text   NOT NULL,
    capabilities text[] NOT NULL,

    CONSTRAINT agent_pk PRIMARY KEY (agent_id)
);

CREATE INDEX agent_by_workspace ON hypha.agent (workspace_id, name);

-- Incarnations of workers. A newer one of the same name drains the older.
CREATE TABLE hypha.registration (
    registration_id uuid        NOT NULL,
    -- the short form that hot rows carry
    reg             integer     GENERATED ALWAYS AS IDENTITY,
    workspace_id    text        NOT NULL,
    worker          text        NOT NULL,
    incarnation     uuid        NOT NULL,
    -- the principal that announced it: nobody else may use it
    owner           text        NOT NULL,
    agent_ids       uuid[]      NOT NULL,
    capabilities    text[]      NOT NULL,
    slots           integer     NOT NULL,
    draining        boolean     NOT NULL DEFAULT false,
    registered_at   timestamptz NOT NULL,

    CONSTRAINT registration_pk PRIMARY KEY (registration_id),
    CONSTRAINT registration_reg_once UNIQUE (reg),
    CONSTRAINT registration_incarnation_once UNIQUE (workspace_id, worker, incarnation)
);

-- Interned pairs of workspace and required capabilities: ready work waits in one of these.
CREATE TABLE hypha.queue (
    queue        integer GENERATED ALWAYS AS IDENTITY,
    workspace_id text    NOT NULL,
    requires     text[]  NOT NULL,

    CONSTRAINT queue_pk PRIMARY KEY (queue),
    CONSTRAINT queue_once UNIQUE (workspace_id, requires)
);
