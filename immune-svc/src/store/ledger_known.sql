SELECT asked.place AS "place!", l.action, l.after
FROM unnest($1::text[], $2::uuid[], $3::smallint[], $4::uuid[])
     WITH ORDINALITY AS asked (workspace_id, agent_id, score, cause_key, place)
-- `IS NOT DISTINCT FROM` keeps the index that leads with the workspace out: it would read an agent's whole ledger.
JOIN immune.ledger l ON l.cause_key = asked.cause_key AND l.agent_id = asked.agent_id
     AND l.score = asked.score AND l.workspace_id IS NOT DISTINCT FROM asked.workspace_id
