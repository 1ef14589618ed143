CREATE TABLE IF NOT EXISTS "order" (id INTEGER PRIMARY KEY, [customer id] INT REFERENCES customer, w AS (1) STORED);
CREATE TABLE customer(id INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW big AS SELECT id + 1 FROM customer
/* big("id + 1") */;
CREATE VIRTUAL TABLE docs USING fts5(title, body)
/* docs(title,body) */;
CREATE TABLE IF NOT EXISTS 'docs_data'(id INTEGER PRIMARY KEY, block BLOB);
