-- The service's only clock. Tests replace this function to move time.
CREATE FUNCTION stigmergy.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE RETURN clock_timestamp();

-- The law of decay, as the domain has it: what is left, in millionths and unrounded. A clock set back decays nothing; past a
-- thousand half-lives nothing is left that a number could hold.
CREATE FUNCTION stigmergy.decayed(intensity integer, half_life_s integer, elapsed interval) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN intensity * power(
        2.0::double precision,
        -least(greatest(extract(epoch FROM elapsed)::double precision / half_life_s, 0), 1000)
    );

-- Notes agents leave for one another. `intensity` is in millionths, as of `refreshed_at`:
-- readers decay it themselves, so a marker nobody touches costs no writes.
CREATE TABLE stigmergy.marker (
    workspace_id         text        NOT NULL,
    marker_id            uuid        NOT NULL,
    region               text        NOT NULL COLLATE "C",
    type                 text        NOT NULL,
    category             text        NOT NULL,
    placed_by            text        NOT NULL, -- an agent's id, or `operator:<name>`
    placer               uuid,                 -- the same, if it was an agent
    intensity            integer     NOT NULL,
    half_life_s          integer     NOT NULL,
    placed_at            timestamptz NOT NULL,
    refreshed_at         timestamptz NOT NULL,
    expires_at           timestamptz NOT NULL, -- when it falls silent: depends on nobody's looking
    transformed_by       uuid[]      NOT NULL DEFAULT '{}',
    transformation_depth integer     NOT NULL DEFAULT 0,
    version              bigint      NOT NULL,
    payload              jsonb,                -- for containment
    canonical            text,                 -- the same, as readers get it and hashes are made of it
    written_at           timestamptz NOT NULL, -- when it got this payload
    faded_at             timestamptz,          -- when its silence was noticed: it never speaks again

    CONSTRAINT marker_pk PRIMARY KEY (workspace_id, marker_id),
    CONSTRAINT marker_intensity_within_cap CHECK (intensity BETWEEN 0 AND 800000),
    CONSTRAINT marker_half_life_within_bounds CHECK (half_life_s BETWEEN 30 AND 2592000),
    CONSTRAINT marker_category_starts_type CHECK (type = category OR starts_with(type, category || '.')),
    CONSTRAINT marker_placer_is_who_placed CHECK (
        CASE WHEN placer IS NULL THEN placed_by LIKE 'operator:%' ELSE placed_by = placer::text END
    ),
    CONSTRAINT marker_placer_not_in_lineage CHECK (placer <> ALL (transformed_by)),
    CONSTRAINT marker_depth_is_lineage CHECK (transformation_depth = cardinality(transformed_by)),
    CONSTRAINT marker_payload_is_both CHECK ((payload IS NULL) = (canonical IS NULL))
);

-- What a reader walks: of one region, what is not yet silent.
CREATE INDEX marker_by_region ON stigmergy.marker (workspace_id, region, expires_at) WHERE faded_at IS NULL;

-- What the sweeper walks: what has fallen silent unnoticed, and what has been silent for long.
CREATE INDEX marker_by_expiry ON stigmergy.marker (expires_at) WHERE faded_at IS NULL;
CREATE INDEX marker_by_fading ON stigmergy.marker (faded_at) WHERE faded_at IS NOT NULL;

-- Payloads that were replaced. The one a marker has is the marker's.
CREATE TABLE stigmergy.payload_version (
    workspace_id text        NOT NULL,
    marker_id    uuid        NOT NULL,
    depth        integer     NOT NULL,
    author       text        NOT NULL,
    written_at   timestamptz NOT NULL,
    payload_hash bytea       NOT NULL,
    canonical    text,

    CONSTRAINT payload_version_pk PRIMARY KEY (workspace_id, marker_id, depth)
);

-- Regions that may have a live marker. `live_until` is late by up to a minute, so that not every touch writes here.
CREATE TABLE stigmergy.region (
    workspace_id text        NOT NULL,
    region       text        NOT NULL COLLATE "C",
    live_until   timestamptz NOT NULL,

    CONSTRAINT region_pk PRIMARY KEY (workspace_id, region)
);

CREATE INDEX region_by_end ON stigmergy.region (live_until);
