-- `row_sum` is the checksum of the other columns (see row_sums.py).
CREATE TABLE space (key TEXT PRIMARY KEY, value TEXT NOT NULL, row_sum INTEGER);

-- The log. seq counts from 1 without holes.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  time REAL NOT NULL,
  op TEXT NOT NULL,
  collection TEXT,
  user TEXT,
  data TEXT NOT NULL,
  key TEXT,
  digest BLOB,
  row_sum INTEGER
);
CREATE UNIQUE INDEX events_key ON events (collection, key) WHERE key IS NOT NULL;
CREATE VIEW users AS SELECT user AS name, count(*) AS events, max(seq) AS last FROM events
  WHERE user IS NOT NULL GROUP BY user;

-- Everything below follows from the log and is written in the same transactions.
CREATE TABLE collections (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  n_features INTEGER NOT NULL,
  n_rows INTEGER NOT NULL DEFAULT 0,
  next_id INTEGER NOT NULL DEFAULT 0,
  active INTEGER NOT NULL DEFAULT 0,
  candidate INTEGER,
  row_sum INTEGER
);
CREATE TABLE items (
  collection INTEGER NOT NULL,
  id INTEGER NOT NULL,
  row INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  meta TEXT,
  row_sum INTEGER,
  PRIMARY KEY (collection, id)
) WITHOUT ROWID;
-- Vectors of the rows first_row, first_row + 1, …: a file of the folder `vectors`, or here while they are few.
CREATE TABLE parts (
  collection INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  n_rows INTEGER NOT NULL,
  file TEXT,
  x BLOB,
  dtype TEXT NOT NULL,
  sum INTEGER NOT NULL,
  row_sum INTEGER,
  PRIMARY KEY (collection, first_row)
);
CREATE TABLE feedback (
  seq INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL,
  query_id INTEGER,
  query_x BLOB,
  item INTEGER NOT NULL,
  liked INTEGER NOT NULL,
  user TEXT,
  actor TEXT,
  duel TEXT,
  team INTEGER,
  undone INTEGER,
  row_sum INTEGER
);
CREATE INDEX feedback_collection ON feedback (collection, seq);
CREATE INDEX feedback_duel ON feedback (duel) WHERE duel IS NOT NULL;
CREATE TABLE versions (
  collection INTEGER NOT NULL,
  number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  name TEXT NOT NULL,
  learner TEXT NOT NULL,
  base INTEGER NOT NULL,
  events INTEGER NOT NULL,
  through INTEGER NOT NULL,
  status TEXT NOT NULL,
  file TEXT NOT NULL,
  row_sum INTEGER,
  PRIMARY KEY (collection, number)
);
CREATE TABLE duels (
  id TEXT PRIMARY KEY,
  collection INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  version INTEGER NOT NULL,
  against INTEGER NOT NULL,
  ids BLOB NOT NULL,
  teams BLOB NOT NULL,
  row_sum INTEGER
);
CREATE INDEX duels_version ON duels (collection, version, against);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  salt BLOB NOT NULL,
  hash BLOB NOT NULL,
  time REAL NOT NULL,
  row_sum INTEGER
);
