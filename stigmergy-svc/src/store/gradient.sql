-- Of each child, and in it of each category: how many live marks, how loud together, and which is the loudest.
WITH hidden AS MATERIALIZED (
    SELECT coalesce(array_agg(s.agent_id), '{}') AS agents
    FROM stigmergy.standing s
    WHERE s.workspace_id = $1 AND s.quarantined AND NOT $6
      AND (s.quarantine_ends_at IS NULL OR s.quarantine_ends_at > $7::timestamptz)
), heard AS (
    SELECT split_part(substr(m.region, $5), '/', 1) AS child, m.category, m.marker_id,
           round(stigmergy.decayed(m.intensity, m.half_life_s, $7::timestamptz - m.refreshed_at))::int
               AS loudness
    FROM stigmergy.region r
    CROSS JOIN LATERAL (
        SELECT * FROM stigmergy.marker m
        WHERE m.workspace_id = r.workspace_id AND m.region = r.region
          AND m.expires_at > $7::timestamptz AND m.faded_at IS NULL
        OFFSET 0 -- looked at region by region, whatever else could be thought of
    ) m
    WHERE r.workspace_id = $1 AND r.region >= $2 AND r.region < $3 AND r.region >= $4
      AND r.live_until > $7::timestamptz
      AND ($6 OR NOT (m.placer = ANY ((SELECT agents FROM hidden)::uuid[]) IS TRUE
                      OR m.transformed_by && (SELECT agents FROM hidden)::uuid[]))
)
SELECT h.child AS "child!", h.category AS "category!", sum(h.loudness) AS "sum!", count(*) AS "markers!",
       max(h.loudness) AS "loudest!", (array_agg(h.marker_id ORDER BY h.loudness DESC, h.marker_id))[1] AS "marker_id!"
FROM heard h
GROUP BY h.child, h.category
ORDER BY h.child, h.category
