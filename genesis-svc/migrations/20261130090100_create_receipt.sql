-- Replies that were given, so that a repeated request gets the same one. Kept for a day.
CREATE TABLE genesis.receipt (
    scope      text        NOT NULL,
    request_id uuid        NOT NULL,
    body_hash  bytea       NOT NULL,
    reply      bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT genesis.now(),

    CONSTRAINT receipt_pk PRIMARY KEY (scope, request_id)
);

-- For the loop that forgets the oldest.
CREATE INDEX receipt_by_age ON genesis.receipt (created_at);
