-- The copy of what immune says of agents, and of what genesis says of their leaving. A row may come before the agent's own:
-- signals arrive in any order. Scores are in millionths.
CREATE TABLE hypha.standing (
    agent_id         uuid        NOT NULL,
    -- of the newest word on each; an older one changes nothing
    seq              bigint      NOT NULL DEFAULT 0,
    trust            integer     NOT NULL DEFAULT 500000,
    generosity       integer     NOT NULL DEFAULT 500000,
    health           integer     NOT NULL DEFAULT 1000000,
    quarantined      boolean     NOT NULL DEFAULT false,
    quarantine_until timestamptz,
    -- how much of its slots it should use
    advice_seq       bigint      NOT NULL DEFAULT 0,
    share            integer     NOT NULL DEFAULT 1000000,
    -- 0 active, 1 draining, 2 retired
    leaving          smallint    NOT NULL DEFAULT 0,

    CONSTRAINT standing_pk PRIMARY KEY (agent_id),
    CONSTRAINT standing_scores_within_bounds CHECK (trust BETWEEN 0 AND 1000000 AND generosity BETWEEN 0 AND 1000000
        AND health BETWEEN 0 AND 1000000 AND share BETWEEN 0 AND 1000000)
);

CREATE INDEX standing_quarantined ON hypha.standing (agent_id) WHERE quarantined;

-- How the merits of agents count in a workspace, in millionths that sum to one. No row: the defaults.
CREATE TABLE hypha.weights (
    workspace_id  text    NOT NULL,
    version       bigint  NOT NULL,
    capability    integer NOT NULL,
    trust         integer NOT NULL,
    health        integer NOT NULL,
    load          integer NOT NULL,
    generosity    integer NOT NULL,
    explore_every integer NOT NULL,

    CONSTRAINT weights_pk PRIMARY KEY (workspace_id),
    CONSTRAINT weights_sum_to_one CHECK (capability + trust + health + load + generosity = 1000000)
);

-- When the lease began: what an attempt took is part of the evidence on its agent.
ALTER TABLE hypha.hot ADD COLUMN leased_at timestamptz;
