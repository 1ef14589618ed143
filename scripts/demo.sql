-- A shop whose purchases have two addresses: what scripts/demo.sh asks about where no database is given.
CREATE TABLE customer (customer_id INTEGER PRIMARY KEY, full_name TEXT, email TEXT, registered_on TEXT);
CREATE TABLE product (product_id INTEGER PRIMARY KEY, title TEXT, stock INTEGER);
CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(customer_id),
    billing_address TEXT, shipping_address TEXT, placed_on TEXT);
CREATE TABLE purchase_line (purchase_id INTEGER REFERENCES purchase(purchase_id),
    product_id INTEGER REFERENCES product(product_id), quantity INTEGER);
INSERT INTO customer VALUES (1, 'Ida Holm', 'ida@example.org', '2024-01-05'), (2, 'Per Lund', 'per@example.org', '2024-02-11');
INSERT INTO product VALUES (1, 'lamp', 4), (2, 'chair', 0);
INSERT INTO purchase VALUES (1, 1, 'Mill Lane 2', 'Harbour 9', '2024-03-01'), (2, 2, 'Abbey Road 7', 'Abbey Road 7', '2024-03-02');
INSERT INTO purchase_line VALUES (1, 1, 2), (1, 2, 1), (2, 2, 4);
