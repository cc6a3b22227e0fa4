-- Who runs a job is its runner; its owner is the name of the token that submitted it.
ALTER TABLE job RENAME COLUMN owner TO runner;
ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX job_waiting_of_owner ON job (owner) WHERE state = 'queued';
CREATE INDEX job_by_end ON job (finished) WHERE state IN ('done', 'failed', 'cancelled') AND is_kept = 0;

-- The same key of two owners means two jobs.
DROP INDEX job_by_idempotency_key;
CREATE UNIQUE INDEX job_by_idempotency_key ON job (owner, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Who uploaded a file, and when it was last uploaded or given to a job.
ALTER TABLE asset ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE asset ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
UPDATE asset SET used = max(created, coalesce(
    (SELECT max(job.created) FROM job WHERE job.model = asset.id OR job.animation = asset.id), 0));
CREATE INDEX asset_by_owner ON asset (owner, size);
CREATE INDEX asset_by_use ON asset (used);

-- What an administrator has set, for all servers of the store.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
