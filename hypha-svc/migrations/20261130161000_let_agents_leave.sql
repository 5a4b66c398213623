-- What its template had learned when the agent was made, as JSON: it goes with every attempt.
ALTER TABLE hypha.agent ADD COLUMN inherited_learnings bytea NOT NULL DEFAULT '';

-- Set with the word to genesis that a draining agent holds nothing any more.
ALTER TABLE hypha.standing ADD COLUMN drained boolean NOT NULL DEFAULT false;

CREATE INDEX standing_draining ON hypha.standing (agent_id) WHERE leaving > 0 AND NOT drained;

-- How many attempts of each agent were told as settled, a row for each batch: their sum is said when the agent has drained. Rows
-- are only ever added on the hot path, so that two batches with one agent wait for nobody; a loop adds them up.
CREATE TABLE hypha.settled (
    agent_id uuid   NOT NULL,
    settled  bigint NOT NULL
);

CREATE INDEX settled_by_agent ON hypha.settled (agent_id);
