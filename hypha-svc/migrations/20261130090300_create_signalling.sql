-- Replies to mutating calls, stored with their effect: a repeat is answered from here.
CREATE TABLE hypha.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT hypha.now(),

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

-- Facts that a receiver has not acknowledged yet. One row carries a batch of signals.
CREATE TABLE hypha.outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    receiver   text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT hypha.now(),
    attempts   integer     NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL DEFAULT hypha.now(),

    CONSTRAINT outbox_pk PRIMARY KEY (id)
);

CREATE INDEX outbox_due ON hypha.outbox (receiver, next_at);

-- Facts heard and applied.
CREATE TABLE hypha.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT hypha.now(),

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);
