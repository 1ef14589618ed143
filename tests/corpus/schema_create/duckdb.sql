CREATE TYPE mood AS ENUM ( 'a', 'b' );
CREATE TABLE customers(id INTEGER PRIMARY KEY, "Full Name" VARCHAR DEFAULT('x;y'), s STRUCT(a INTEGER, b VARCHAR[]), m MAP(VARCHAR, INTEGER), d DECIMAL(18,3), t TIMESTAMP WITH TIME ZONE, h HUGEINT, mo ENUM('a', 'b'), u UNION(i INTEGER, s VARCHAR));
CREATE TABLE "order"(order_id BIGINT, customer_id INTEGER, FOREIGN KEY (customer_id) REFERENCES customers(id), UNIQUE(order_id), PRIMARY KEY(order_id));
CREATE VIEW v AS SELECT id, "Full Name" AS "name", count_star() AS n FROM customers GROUP BY ALL;

