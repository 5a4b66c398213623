-- A service as small as one can be: a clock, a table of its own, and the three tables that the kit works on.
CREATE FUNCTION ledger.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

CREATE TABLE ledger.entry (
    signal_id uuid   NOT NULL,
    depth     bigint NOT NULL,

    CONSTRAINT entry_pk PRIMARY KEY (signal_id)
);

CREATE TABLE ledger.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL,

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

CREATE TABLE ledger.outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    receiver   text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    attempts   integer     NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL,

    CONSTRAINT outbox_pk PRIMARY KEY (id)
);

CREATE INDEX outbox_due ON ledger.outbox (receiver, next_at);

CREATE TABLE ledger.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL,

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);
