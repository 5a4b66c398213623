-- The service's only clock. Tests replace this function to move time.
CREATE FUNCTION hypha.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

-- The content of graphs, by the hash of its canonical form: two names may share one content.
CREATE TABLE hypha.graph_spec (
    hash bytea NOT NULL,
    spec bytea NOT NULL,

    CONSTRAINT graph_spec_pk PRIMARY KEY (hash)
);

-- Immutable versions of named graphs.
CREATE TABLE hypha.graph (
    workspace_id text        NOT NULL,
    name         text        NOT NULL,
    version      integer     NOT NULL,
    hash         bytea       NOT NULL,
    nodes        integer     NOT NULL,
    edges        integer     NOT NULL,
    created_at   timestamptz NOT NULL,

    CONSTRAINT graph_pk PRIMARY KEY (workspace_id, name, version),
    CONSTRAINT graph_content_once UNIQUE (workspace_id, name, hash),
    CONSTRAINT graph_spec_fk FOREIGN KEY (hash) REFERENCES hypha.graph_spec (hash),
    CONSTRAINT graph_version_positive CHECK (version > 0)
);
