-- The service's only clock. Tests replace this function to move time.
CREATE FUNCTION genesis.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

-- Whoever can be given work. Names sort by bytes, whatever the server's locale: pages are cut by them.
CREATE TABLE genesis.agent (
    workspace_id text        NOT NULL,
    agent_id     uuid        NOT NULL,
    name         text        NOT NULL COLLATE "C",
    capabilities text[]      NOT NULL,
    state        text        NOT NULL,
    enrolled_at  timestamptz NOT NULL,

    CONSTRAINT agent_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT agent_name_unique UNIQUE (workspace_id, name),
    CONSTRAINT agent_capabilities_within_limit CHECK (cardinality(capabilities) <= 100),
    CONSTRAINT agent_state_known CHECK (state IN ('active'))
);
