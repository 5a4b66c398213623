-- One range of `marker_by_region` for each region that may have live marks: what is silent, or elsewhere, is not read.
WITH hidden AS MATERIALIZED (
    SELECT coalesce(array_agg(s.agent_id), '{}') AS agents
    FROM stigmergy.standing s
    WHERE s.workspace_id = $1 AND s.quarantined AND NOT $10
      AND (s.quarantine_ends_at IS NULL OR s.quarantine_ends_at > $12::timestamptz)
), heard AS (
    SELECT m.*, stigmergy.decayed(m.intensity, m.half_life_s, $12::timestamptz - m.refreshed_at) AS loudness
    FROM stigmergy.region r
    CROSS JOIN LATERAL (
        SELECT * FROM stigmergy.marker m
        WHERE m.workspace_id = r.workspace_id AND m.region = r.region
          AND m.expires_at > $12::timestamptz AND m.faded_at IS NULL
        OFFSET 0 -- looked at region by region, whatever else could be thought of
    ) m
    WHERE r.workspace_id = $1 AND r.region >= $2 AND r.region < $3 AND (r.region = $2 OR r.region >= $4)
      AND r.live_until > $12::timestamptz
)
SELECT h.marker_id AS "marker_id!", h.region AS "region!", h.type AS "kind!", h.placed_by AS "placed_by!",
       h.intensity AS "intensity!", h.half_life_s AS "half_life_s!", h.placed_at AS "placed_at!",
       h.refreshed_at AS "refreshed_at!", h.transformed_by AS "transformed_by!", h.version AS "version!",
       h.canonical AS "canonical?", h.written_at AS "written_at!", false AS "has_faded!"
FROM heard h
WHERE (cardinality($5::text[]) = 0 OR h.category = ANY ($5))
  AND (cardinality($6::text[]) = 0 OR h.type = ANY ($6))
  AND round(h.loudness) >= $7::int
  AND ($8::text IS NULL OR h.payload @> $8::text::jsonb)
  AND ($10 OR NOT (h.placer = ANY ((SELECT agents FROM hidden)::uuid[]) IS TRUE
                   OR h.transformed_by && (SELECT agents FROM hidden)::uuid[]))
ORDER BY CASE WHEN $9 THEN NULL ELSE h.loudness END DESC NULLS LAST, h.placed_at DESC, h.marker_id DESC
LIMIT $11
