-- Runs that are deleted, until the rest of theirs is. The run's own row goes first: readers find all of it or nothing,
-- and whoever is stopped half way leaves a note for the next.
CREATE TABLE hypha.gone (
    run_id uuid NOT NULL,

    CONSTRAINT gone_pk PRIMARY KEY (run_id)
);
