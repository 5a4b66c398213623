-- What the operator set: one current row of each, and a version for every value that it ever had.
CREATE TABLE swarm.share (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    share_ppm    bigint      NOT NULL,
    haste_ppm    bigint,
    haste_until  timestamptz,
    set_at       timestamptz NOT NULL,
    set_by       text        NOT NULL,

    CONSTRAINT share_pk PRIMARY KEY (workspace_id, instance),
    CONSTRAINT share_within_bounds CHECK (share_ppm BETWEEN 1000 AND 100000000),
    CONSTRAINT share_haste_within_bounds CHECK (haste_ppm BETWEEN 1000000 AND 10000000),
    CONSTRAINT share_haste_ends CHECK ((haste_ppm IS NULL) = (haste_until IS NULL))
);

CREATE TABLE swarm.dial (
    workspace_id              text        NOT NULL,
    heat_ppm                  bigint      NOT NULL,
    base_rate_micro_usd_per_h bigint      NOT NULL,
    base_run_micro_usd        bigint      NOT NULL,
    k                         bigint      NOT NULL,
    reserve                   text        NOT NULL,
    burst_micro_usd           bigint      NOT NULL,
    floor_micro_usd           bigint      NOT NULL,
    turn_max_s                bigint      NOT NULL,
    set_at                    timestamptz NOT NULL,
    set_by                    text        NOT NULL,

    CONSTRAINT dial_pk PRIMARY KEY (workspace_id)
);

CREATE TABLE swarm.wallet (
    workspace_id    text        NOT NULL,
    limit_micro_usd bigint      NOT NULL,
    period          text        NOT NULL,
    set_at          timestamptz NOT NULL,
    set_by          text        NOT NULL,

    CONSTRAINT wallet_pk PRIMARY KEY (workspace_id)
);

CREATE TABLE swarm.brake (
    workspace_id text        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    released     boolean     NOT NULL,
    reason       text        NOT NULL,
    -- Of a held brake: since when, however often it was held again.
    set_at       timestamptz NOT NULL,
    set_by       text        NOT NULL,

    CONSTRAINT brake_pk PRIMARY KEY (workspace_id, instance)
);

-- Versions are kept as they are read: what a row said, until when, and that it was taken away.
CREATE TABLE swarm.control_version (
    workspace_id text        NOT NULL,
    seq          bigint      NOT NULL,
    what         text        NOT NULL,
    instance     text        NOT NULL DEFAULT '' COLLATE "C",
    value        jsonb,
    at           timestamptz NOT NULL,

    CONSTRAINT control_version_pk PRIMARY KEY (workspace_id, seq),
    CONSTRAINT control_version_of_control CHECK (what IN ('share', 'dial', 'wallet', 'brake'))
);

CREATE TRIGGER control_version_never_changes BEFORE UPDATE ON swarm.control_version
    FOR EACH ROW EXECUTE FUNCTION swarm.refuse_update();

CREATE FUNCTION swarm.keep_version() RETURNS trigger
    LANGUAGE plpgsql AS $$
DECLARE
    now_row jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
BEGIN
    INSERT INTO swarm.control_version (workspace_id, seq, what, instance, value, at)
    VALUES (
        now_row ->> 'workspace_id',
        swarm.next_seq(now_row ->> 'workspace_id', 'control'),
        TG_TABLE_NAME,
        coalesce(now_row ->> 'instance', ''),
        CASE WHEN TG_OP = 'DELETE' THEN NULL ELSE now_row - 'workspace_id' - 'instance' END,
        swarm.now()
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER share_keeps_versions AFTER INSERT OR UPDATE OR DELETE ON swarm.share
    FOR EACH ROW EXECUTE FUNCTION swarm.keep_version();
CREATE TRIGGER dial_keeps_versions AFTER INSERT OR UPDATE OR DELETE ON swarm.dial
    FOR EACH ROW EXECUTE FUNCTION swarm.keep_version();
CREATE TRIGGER wallet_keeps_versions AFTER INSERT OR UPDATE OR DELETE ON swarm.wallet
    FOR EACH ROW EXECUTE FUNCTION swarm.keep_version();
CREATE TRIGGER brake_keeps_versions AFTER INSERT OR UPDATE OR DELETE ON swarm.brake
    FOR EACH ROW EXECUTE FUNCTION swarm.keep_version();

CREATE TABLE swarm.loan (
    workspace_id text        NOT NULL,
    loan_id      uuid        NOT NULL,
    lender       text        NOT NULL COLLATE "C",
    borrower     text        NOT NULL COLLATE "C",
    share_ppm    bigint      NOT NULL,
    from_at      timestamptz NOT NULL,
    until_at     timestamptz NOT NULL,
    ended_at     timestamptz,
    ended_by     text,

    CONSTRAINT loan_pk PRIMARY KEY (workspace_id, loan_id),
    CONSTRAINT loan_between_two CHECK (lender <> borrower),
    CONSTRAINT loan_large_enough CHECK (share_ppm >= 1000),
    CONSTRAINT loan_ends CHECK (until_at > from_at AND until_at <= from_at + interval '24 hours'),
    CONSTRAINT loan_ended_by_somebody CHECK ((ended_at IS NULL) = (ended_by IS NULL))
);

CREATE INDEX loan_given ON swarm.loan (workspace_id, lender) WHERE ended_at IS NULL;
CREATE INDEX loan_taken ON swarm.loan (workspace_id, borrower) WHERE ended_at IS NULL;

CREATE TABLE swarm.operator_session (
    workspace_id text        NOT NULL,
    session_id   uuid        NOT NULL,
    instance     text        NOT NULL COLLATE "C",
    preempt      boolean     NOT NULL,
    opened_by    text        NOT NULL,
    opened_at    timestamptz NOT NULL,
    until_at     timestamptz NOT NULL,
    closed_at    timestamptz,

    CONSTRAINT operator_session_pk PRIMARY KEY (workspace_id, session_id)
);

-- One that ended by itself is closed before another is opened.
CREATE UNIQUE INDEX operator_session_open ON swarm.operator_session (workspace_id, instance) WHERE closed_at IS NULL;
