-- Facts that other services have yet to hear: a row holds one batch for one receiver, and leaves when it has acknowledged.
CREATE TABLE genesis.outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    receiver   text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT genesis.now(),
    attempts   integer     NOT NULL DEFAULT 0,
    next_at    timestamptz NOT NULL DEFAULT genesis.now(),

    CONSTRAINT outbox_pk PRIMARY KEY (id)
);

-- The relay asks one receiver at a time for what is due.
CREATE INDEX outbox_due ON genesis.outbox (receiver, next_at);
