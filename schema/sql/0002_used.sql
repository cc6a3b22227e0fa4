-- What a job's simulations came to: a JSON array, shown beside the canonical job.
ALTER TABLE job ADD COLUMN used TEXT NOT NULL DEFAULT '[]';
