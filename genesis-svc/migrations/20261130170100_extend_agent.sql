-- Where an agent came from, what it was told, and how its life ends.
ALTER TABLE genesis.agent
    ADD COLUMN template         text,
    ADD COLUMN template_version integer,
    ADD COLUMN parent_id        uuid,
    ADD COLUMN root_id          uuid,
    ADD COLUMN generation       integer NOT NULL DEFAULT 0,
    -- What it was spawned with, as the signal carried it, and the ids in it; those it was spawned without.
    ADD COLUMN inherited        text    NOT NULL DEFAULT '[]',
    ADD COLUMN inherited_hash   bytea,
    ADD COLUMN inherited_ids    uuid[]  NOT NULL DEFAULT '{}',
    ADD COLUMN held_out_ids     uuid[]  NOT NULL DEFAULT '{}',
    -- A spawn is counted under the lock of its parent's row; one that waits is counted too.
    ADD COLUMN live_children    integer NOT NULL DEFAULT 0,
    ADD COLUMN ever_children    integer NOT NULL DEFAULT 0,
    ADD COLUMN draining_at      timestamptz,
    ADD COLUMN retired_at       timestamptz,
    -- How many settlements there are of it, once its employer has said so.
    ADD COLUMN settled_in_all   bigint,
    ADD COLUMN added_failures   text[]  NOT NULL DEFAULT '{}',
    ADD COLUMN added_hints      text[]  NOT NULL DEFAULT '{}',
    -- The transaction that changed what others see of it: a watcher reads on from there.
    ADD COLUMN changed_in       bigint  NOT NULL DEFAULT 0;

UPDATE genesis.agent SET root_id = agent_id;

ALTER TABLE genesis.agent
    ALTER COLUMN root_id SET NOT NULL,
    DROP CONSTRAINT agent_state_known,
    ADD CONSTRAINT agent_state_known CHECK (state IN ('active', 'draining', 'retired')),
    ADD CONSTRAINT agent_generation_within_limit CHECK (generation BETWEEN 0 AND 8),
    ADD CONSTRAINT agent_children_within_limit
        CHECK (live_children BETWEEN 0 AND 10 AND ever_children BETWEEN 0 AND 1000 AND live_children <= ever_children),
    ADD CONSTRAINT agent_template_whole CHECK ((template IS NULL) = (template_version IS NULL)),
    ADD CONSTRAINT agent_root_is_itself_or_inherited CHECK ((parent_id IS NULL) = (root_id = agent_id));

CREATE INDEX agent_children ON genesis.agent (workspace_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX agent_changes ON genesis.agent (workspace_id, changed_in);
-- For the loop that composts.
CREATE INDEX agent_draining ON genesis.agent (draining_at) WHERE state = 'draining';
