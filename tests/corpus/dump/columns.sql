CREATE TABLE t (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- key
    "full name" VARCHAR(20) COLLATE NOCASE UNIQUE,
    price DECIMAL(10, 2),
);
INSERT INTO "t" (id,full name,price,lost) VALUES (1,'O''Neil; (x)',2.5,-7),(2,NULL,-1,x'00');
