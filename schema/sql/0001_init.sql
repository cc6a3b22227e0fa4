-- The first layout. Times are milliseconds since 1970 in UTC; ids are as in schema/openapi.json.

-- An uploaded file under one set of import options. Two rows may share the bytes of one blob.
CREATE TABLE asset (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('model', 'animation')),
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    unit REAL NOT NULL,
    is_z_up INTEGER NOT NULL,
    summary TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;
CREATE INDEX asset_by_bytes ON asset (sha256);
CREATE INDEX asset_by_kind ON asset (kind, seq);

-- What one attempt of a job has written: files in the folder of (job, attempt), and measures.
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    key TEXT NOT NULL,
    is_complete INTEGER NOT NULL DEFAULT 0,
    frames INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT NOT NULL DEFAULT '',
    seconds REAL NOT NULL DEFAULT 0,
    simulated REAL NOT NULL DEFAULT 0,
    measured TEXT NOT NULL DEFAULT '', -- JSON array of the rows so far
    created INTEGER NOT NULL,
    UNIQUE (job, attempt)
) STRICT;
CREATE INDEX result_by_key ON result (key, id) WHERE is_complete = 1;

CREATE TABLE job (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    name TEXT NOT NULL,
    model TEXT NOT NULL REFERENCES asset (id),
    animation TEXT REFERENCES asset (id),
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    canonical TEXT NOT NULL,
    tags TEXT NOT NULL,
    priority INTEGER NOT NULL,
    is_cached INTEGER NOT NULL DEFAULT 0,
    is_kept INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    heartbeat INTEGER NOT NULL DEFAULT 0,
    is_cancelling INTEGER NOT NULL DEFAULT 0,
    frame_count INTEGER NOT NULL,
    frames INTEGER NOT NULL DEFAULT 0,
    progress REAL NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    started INTEGER,
    finished INTEGER,
    error_status TEXT,
    error TEXT,
    passed INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    result INTEGER REFERENCES result (id),
    idempotency_key TEXT,
    body_sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX job_queue ON job (priority DESC, seq) WHERE state = 'queued';
CREATE INDEX job_running ON job (owner, heartbeat) WHERE state = 'running';
CREATE INDEX job_by_state ON job (state, seq);
CREATE INDEX job_by_model ON job (model, seq);
CREATE INDEX job_by_animation ON job (animation) WHERE animation IS NOT NULL;
CREATE INDEX job_by_result ON job (result);
CREATE UNIQUE INDEX job_by_idempotency_key ON job (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

CREATE TABLE tag (
    job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (job, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_value ON tag (key, value, job);

CREATE TABLE measure (
    result INTEGER NOT NULL REFERENCES result (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    simulation INTEGER NOT NULL,
    target TEXT NOT NULL,
    value REAL,
    unit TEXT NOT NULL,
    PRIMARY KEY (result, name, simulation, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX measure_by_name ON measure (name, result);

-- What subscribers see. Ids rise and are never used twice.
CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;
CREATE INDEX event_by_job ON event (job, id) WHERE job IS NOT NULL;
CREATE INDEX event_by_age ON event (created);
