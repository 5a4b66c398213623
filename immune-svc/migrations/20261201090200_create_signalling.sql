-- Replies that were given, so that a repeated request gets the same one. Kept for a day.
CREATE TABLE immune.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT immune.now(),

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

CREATE INDEX receipt_by_age ON immune.receipt (created_at);

-- Facts that other services have yet to hear: a row holds one batch for one receiver, and leaves when it has acknowledged.
CREATE TABLE immune.outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    receiver   text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT immune.now(),
    attempts   integer     NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL DEFAULT immune.now(),

    CONSTRAINT outbox_pk PRIMARY KEY (id)
);

CREATE INDEX outbox_due ON immune.outbox (receiver, next_at);

-- Facts heard and applied. Kept for thirty days.
CREATE TABLE immune.inbox (
    signal_id  uuid        NOT NULL,
    type       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT immune.now(),

    CONSTRAINT inbox_pk PRIMARY KEY (signal_id)
);

CREATE INDEX inbox_by_age ON immune.inbox (applied_at);
