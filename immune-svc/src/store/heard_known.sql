SELECT asked.place AS "place!"
FROM unnest($1::text[], $2::uuid[], $3::text[], $4::uuid[])
     WITH ORDINALITY AS asked (workspace_id, agent_id, signal_type, cause_key, place)
-- As in the ledger: by the cause, and by no index that leads with the workspace.
JOIN immune.heard h ON h.cause_key = asked.cause_key AND h.agent_id = asked.agent_id
     AND h.signal_type = asked.signal_type AND h.workspace_id IS NOT DISTINCT FROM asked.workspace_id
