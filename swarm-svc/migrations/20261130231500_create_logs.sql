-- What watches send, in the order of the commits.
CREATE TABLE swarm.event (
    workspace_id text        NOT NULL,
    seq          bigint      NOT NULL,
    kind         text        NOT NULL,
    instance     text        NOT NULL DEFAULT '' COLLATE "C",
    turn_id      uuid,
    body         jsonb       NOT NULL,
    at           timestamptz NOT NULL,

    CONSTRAINT event_pk PRIMARY KEY (workspace_id, seq),
    CONSTRAINT event_kind_known CHECK (kind IN ('granted', 'running', 'settled', 'withdrawn', 'clamped', 'control'))
);

CREATE INDEX event_by_age ON swarm.event (at);

-- Every replica hears of every commit that has one. What is said twice in a transaction is heard once.
CREATE FUNCTION swarm.tell_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('swarm_event', '');
    RETURN NULL;
END
$$;

CREATE TRIGGER event_is_told AFTER INSERT ON swarm.event
    FOR EACH STATEMENT EXECUTE FUNCTION swarm.tell_event();

-- Every change that an operator, a mind, a scheduler or a meter made, and every one that was refused.
CREATE TABLE swarm.audit (
    workspace_id text        NOT NULL,
    seq          bigint      NOT NULL,
    actor        text        NOT NULL,
    action       text        NOT NULL,
    instance     text        NOT NULL DEFAULT '' COLLATE "C",
    turn_id      uuid,
    allowed      boolean     NOT NULL,
    reason       text        NOT NULL DEFAULT '',
    body         jsonb       NOT NULL,
    at           timestamptz NOT NULL,

    CONSTRAINT audit_pk PRIMARY KEY (workspace_id, seq)
);

CREATE INDEX audit_by_age ON swarm.audit (at);

-- Replies that were given, so that a repeated request gets the same one. Kept for a day.
CREATE TABLE swarm.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT swarm.now(),

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

CREATE INDEX receipt_by_age ON swarm.receipt (created_at);

-- Signals that were applied.
CREATE TABLE swarm.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT swarm.now(),

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);

CREATE INDEX inbox_by_age ON swarm.inbox (applied_at);
