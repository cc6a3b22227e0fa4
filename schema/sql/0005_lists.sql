-- Lists of a tag or an owner, the newest first, read as many rows as they show.
ALTER TABLE tag ADD COLUMN seq INTEGER NOT NULL DEFAULT 0; -- of the job
UPDATE tag SET seq = (SELECT job.seq FROM job WHERE job.id = tag.job);
DROP INDEX tag_by_value;
CREATE INDEX tag_by_value ON tag (key, value, seq);
CREATE INDEX job_by_owner ON job (owner, seq);
