-- A copy of who the agents are. States: 0 active, 1 draining, 2 retired; a copy only ever moves on.
CREATE TABLE stigmergy.agent (
    workspace_id text     NOT NULL,
    agent_id     uuid     NOT NULL,
    name         text, -- unknown as long as only its end was heard of
    state        smallint NOT NULL,

    CONSTRAINT agent_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT agent_state_known CHECK (state BETWEEN 0 AND 2)
);

-- A copy of what immune thinks of them, in millionths. An older `seq` never replaces a newer one.
CREATE TABLE stigmergy.standing (
    workspace_id       text        NOT NULL,
    agent_id           uuid        NOT NULL,
    seq                bigint      NOT NULL,
    trust              integer     NOT NULL,
    generosity         integer     NOT NULL,
    health             integer     NOT NULL,
    quarantined        boolean     NOT NULL,
    quarantine_ends_at timestamptz, -- by itself, whether or not anybody says so

    CONSTRAINT standing_pk PRIMARY KEY (workspace_id, agent_id),
    CONSTRAINT standing_within_range CHECK (
        trust BETWEEN 0 AND 1000000 AND generosity BETWEEN 0 AND 1000000 AND health BETWEEN 0 AND 1000000
    )
);

-- Whose marks are left out of what is sensed: few, and asked for with every look.
CREATE INDEX standing_quarantined ON stigmergy.standing (workspace_id) WHERE quarantined;
