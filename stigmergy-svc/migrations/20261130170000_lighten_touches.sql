-- What a touch pays for beside its rows. Keys are compared by bytes: that is what an index does most, and no key is read
-- by people in the order of a language.
ALTER TABLE stigmergy.marker
    ALTER COLUMN workspace_id TYPE text COLLATE "C",
    -- Of these the service's own types see to it; each was worked out anew for every row.
    DROP CONSTRAINT marker_category_starts_type,
    DROP CONSTRAINT marker_placer_is_who_placed,
    DROP CONSTRAINT marker_payload_is_both;
ALTER TABLE stigmergy.payload_version ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.region ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.rate
    ALTER COLUMN workspace_id TYPE text COLLATE "C",
    ALTER COLUMN author TYPE text COLLATE "C";
ALTER TABLE stigmergy.marker_event ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.workspace ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.agent ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.standing ALTER COLUMN workspace_id TYPE text COLLATE "C";
ALTER TABLE stigmergy.receipt ALTER COLUMN scope TYPE text COLLATE "C";

-- Receipts come in the order of their age: a range of pages says enough to forget them by, and an insert pays nothing for it.
DROP INDEX stigmergy.receipt_by_age;
CREATE INDEX receipt_by_age ON stigmergy.receipt USING brin (created_at) WITH (pages_per_range = 16);
