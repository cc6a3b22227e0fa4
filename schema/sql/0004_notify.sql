-- Who is told of a job's end (its "notify").
CREATE TABLE notify (
    job TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    url TEXT NOT NULL,   -- whole: it may hold a secret
    place TEXT NOT NULL, -- HOST:PORT of it
    ends TEXT NOT NULL   -- the states that are told, with spaces between
) STRICT, WITHOUT ROWID;

-- One end of one job, told once. It holds all that telling needs, and outlives its job until it is
-- over.
CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    job TEXT NOT NULL,
    ended INTEGER NOT NULL, -- as job.finished
    url TEXT NOT NULL,
    place TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL, -- not before, where it is pending
    last_code INTEGER NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX delivery_by_job ON delivery (job, seq);
CREATE INDEX delivery_by_place ON delivery (place, next) WHERE state = 'pending';
CREATE INDEX delivery_by_time ON delivery (next) WHERE state = 'pending';

CREATE TRIGGER delivery_goes_with_job AFTER DELETE ON job BEGIN
    DELETE FROM delivery WHERE job = old.id AND state != 'pending';
END;
CREATE TRIGGER delivery_goes_when_over AFTER UPDATE OF state ON delivery
WHEN new.state != 'pending' AND NOT EXISTS (SELECT 1 FROM job WHERE id = new.job) BEGIN
    DELETE FROM delivery WHERE seq = new.seq;
END;
