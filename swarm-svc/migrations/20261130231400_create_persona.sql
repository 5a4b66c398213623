-- Who a mind is: every version that was stored, replaced whole.
CREATE TABLE swarm.persona_version (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    version      integer     NOT NULL,
    value        jsonb       NOT NULL,
    value_sha256 text        NOT NULL,
    updated_at   timestamptz NOT NULL,
    receipt_id   uuid        NOT NULL,

    CONSTRAINT persona_version_pk PRIMARY KEY (workspace_id, instance, version),
    CONSTRAINT persona_version_counts_from_one CHECK (version >= 1)
);

CREATE TABLE swarm.persona_receipt (
    workspace_id     text        NOT NULL,
    id               uuid        NOT NULL,
    instance         text        NOT NULL COLLATE "C",
    version          integer     NOT NULL,
    author           text        NOT NULL,
    faculty          text        NOT NULL,
    agent            text        NOT NULL,
    session          text        NOT NULL,
    tool             text        NOT NULL,
    turn_id          uuid,
    session_id       uuid,
    identity_changed boolean     NOT NULL,
    import_report    jsonb,
    committed_at     timestamptz NOT NULL,

    CONSTRAINT persona_receipt_pk PRIMARY KEY (workspace_id, id),
    CONSTRAINT persona_receipt_one_a_version UNIQUE (workspace_id, instance, version)
);

CREATE TRIGGER persona_version_never_changes BEFORE UPDATE ON swarm.persona_version
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();
CREATE TRIGGER persona_receipt_never_changes BEFORE UPDATE ON swarm.persona_receipt
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();
