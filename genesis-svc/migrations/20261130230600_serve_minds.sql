-- The minds whose turns' tasks an agent may be given: of a spawned one its template's, at the version that it was made from.
ALTER TABLE genesis.agent ADD COLUMN serves_minds text[] NOT NULL DEFAULT '{}';

UPDATE genesis.agent a SET serves_minds = v.serves_minds
FROM genesis.template_version v
WHERE v.workspace_id = a.workspace_id AND v.name = a.template AND v.version = a.template_version;
