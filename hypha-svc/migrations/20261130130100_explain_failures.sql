-- What failed in a run, first things first: for whoever asks why. Costs nothing that succeeds.
CREATE INDEX task_end_failed ON hypha.task_end (run_id, at) WHERE state = 7;
