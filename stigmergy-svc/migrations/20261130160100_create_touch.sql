-- The last ten accepted operations of one author in one region, oldest first: the window is exact, and a row is all it takes.
CREATE TABLE stigmergy.rate (
    workspace_id text          NOT NULL,
    author       text          NOT NULL,
    region       text          NOT NULL COLLATE "C",
    accepted     timestamptz[] NOT NULL,
    told_at      timestamptz, -- when immune was last told that it ran into the limit

    CONSTRAINT rate_pk PRIMARY KEY (workspace_id, author, region),
    CONSTRAINT rate_keeps_ten CHECK (cardinality(accepted) BETWEEN 1 AND 10)
) WITH (fillfactor = 70); -- a row is rewritten in its page

-- What happened, numbered in each workspace from 1 without gaps. Kinds: 1 placed, 2 reinforced, 3 transformed, 4 faded.
CREATE TABLE stigmergy.marker_event (
    workspace_id         text        NOT NULL,
    seq                  bigint      NOT NULL,
    kind                 smallint    NOT NULL,
    marker_id            uuid        NOT NULL,
    region               text        NOT NULL COLLATE "C",
    type                 text        NOT NULL,
    actor                text,
    intensity_before     integer     NOT NULL,
    intensity_after      integer     NOT NULL,
    transformation_depth integer     NOT NULL,
    old_payload_summary  text,
    new_payload_summary  text,
    at                   timestamptz NOT NULL,

    CONSTRAINT marker_event_pk PRIMARY KEY (workspace_id, seq),
    CONSTRAINT marker_event_kind_known CHECK (kind BETWEEN 1 AND 4)
);

-- The last number given out. Written under the workspace's lock (an advisory one: see the store), as is all that is numbered.
CREATE TABLE stigmergy.workspace (
    workspace_id text   NOT NULL,
    last_seq     bigint NOT NULL,

    CONSTRAINT workspace_pk PRIMARY KEY (workspace_id)
);
