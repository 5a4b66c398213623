-- Replies that were given, so that a repeated request gets the same one. Kept for a day.
CREATE TABLE stigmergy.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT stigmergy.now(),

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

-- For the loop that forgets the oldest.
CREATE INDEX receipt_by_age ON stigmergy.receipt (created_at);

-- Facts that other services have yet to hear: a row holds one batch for one receiver, and leaves when it has acknowledged.
CREATE TABLE stigmergy.outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    receiver   text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT stigmergy.now(),
    attempts   integer     NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL DEFAULT stigmergy.now(),

    CONSTRAINT outbox_pk PRIMARY KEY (id)
);

-- The relay asks one receiver at a time for what is due.
CREATE INDEX outbox_due ON stigmergy.outbox (receiver, next_at);

-- Facts that were heard: each is applied once. Kept for thirty days.
CREATE TABLE stigmergy.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT stigmergy.now(),

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);

CREATE INDEX inbox_by_age ON stigmergy.inbox (applied_at);
