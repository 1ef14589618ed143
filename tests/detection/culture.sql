-- A town's culture department: library branches, events, venues and room hire.

CREATE TABLE staff (
    staff_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    job_title TEXT,
    department_id INTEGER,
    joined_on DATE,
    weekly_hours REAL,
    email TEXT
);
INSERT INTO staff VALUES
    (1, 'Jana Kovar', 'programme manager', 1, '2012-09-01', 39, 'j.kovar@town.example'),
    (2, 'Peter Amsel', 'head of department', 1, '2005-02-01', 39, 'p.amsel@town.example'),
    (3, 'Rosa Lindner', 'librarian', 2, '2016-04-15', 30, 'r.lindner@town.example'),
    (4, 'Tomasz Wilk', 'head librarian', 2, '2009-01-01', 39, 't.wilk@town.example'),
    (5, 'Hilde Brandt', 'librarian', 2, '1998-08-01', 19.5, 'h.brandt@town.example'),
    (6, 'Samir Haddad', 'music officer', 3, '2019-10-01', 39, 's.haddad@town.example'),
    (7, 'Greta Vogel', 'head of department', 3, '2014-03-01', 39, 'g.vogel@town.example'),
    (8, 'Ivo Marin', 'stage technician', 4, '2021-05-01', 39, NULL),
    (9, 'Lena Hoff', 'venue manager', 4, '2018-06-15', 35, 'l.hoff@town.example'),
    (10, 'Daniel Roth', 'reading promoter', 2, '2022-01-10', 20, 'd.roth@town.example'),
    (11, 'Nora Feld', 'trainee', 1, '2025-09-01', 39, 'n.feld@town.example');

CREATE TABLE department (
    department_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    head_id INTEGER REFERENCES staff (staff_id),
    deputy_id INTEGER REFERENCES staff (staff_id),
    staff_budget INTEGER,           -- for 2026
    material_budget INTEGER
);
INSERT INTO department VALUES
    (1, 'Programme Office', 2, 1, 298000, 385000),
    (2, 'Town Library', 4, 3, 702000, 208000),
    (3, 'Music School', 7, 6, 588000, 61000),
    (4, 'Venues', 9, 8, 214000, 91000),
    (5, 'Town Archive', NULL, 5, 96000, 22000);

CREATE TABLE venue (
    venue_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    district TEXT,
    seats INTEGER,
    is_outdoor INTEGER NOT NULL,
    step_free INTEGER,
    built_in INTEGER
);
INSERT INTO venue VALUES
    (1, 'Old Mill', 'Riverside', 240, 0, 1, 1788),
    (2, 'Market Hall', 'Centre', 600, 0, 1, 1911),
    (3, 'Castle Green', 'Centre', 900, 1, 0, NULL),
    (4, 'Studio 9', 'Northgate', 80, 0, 1, 1994),
    (5, 'River Stage', 'Riverside', 450, 1, 1, 2008),
    (6, 'Reading Room', 'Centre', 60, 0, 0, 1902);

CREATE TABLE event_series (
    series_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    season TEXT,
    coordinator_id INTEGER REFERENCES staff (staff_id),
    attendance INTEGER              -- as reported to the town council
);
INSERT INTO event_series VALUES
    (1, 'River Summer', '2026', 1, 850),
    (2, 'Jazz in the Mill', '2025/26', 6, 365),
    (3, 'Reading Aloud', '2026', 10, 230),
    (4, 'Town and River: Local History', '2026', 5, 52),
    (5, 'Winter Lights', '2026/27', 1, NULL);

CREATE TABLE event (
    event_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    event_type TEXT NOT NULL,
    series_id INTEGER REFERENCES event_series (series_id),
    venue_id INTEGER REFERENCES venue (venue_id),
    rain_venue_id INTEGER REFERENCES venue (venue_id),
    organiser_id INTEGER REFERENCES staff (staff_id),
    presenter_id INTEGER REFERENCES staff (staff_id),
    doors_open_at TEXT,
    starts_at TEXT NOT NULL,
    min_age INTEGER,
    ticket_price REAL,
    attendance INTEGER,
    status TEXT NOT NULL
);
INSERT INTO event VALUES
    (101, 'Nils Ahrend Trio', 'concert', 2, 1, NULL, 6, 6, '2026-02-13 19:00', '2026-02-13 20:00', NULL, 18, 164, 'held'),
    (102, 'The River Remembers', 'lecture', 4, 6, NULL, 5, 4, '2026-03-05 18:30', '2026-03-05 19:00', NULL, 0, 52, 'held'),
    (103, 'Fox and Moon', 'puppet theatre', 3, 4, NULL, 10, 1, '2026-03-21 14:30', '2026-03-21 15:00', 4, 6, 77, 'held'),
    (104, 'Open Air Overture', 'concert', 1, 5, 2, 1, 7, '2026-06-20 18:00', '2026-06-20 19:30', NULL, 22, 431, 'held'),
    (105, 'Film on the Green', 'film', 1, 3, 2, 1, 1, '2026-07-03 20:30', '2026-07-03 22:00', 12, 9, 388, 'held'),
    (106, 'Fado Night', 'concert', 1, 5, 1, 6, 1, '2026-07-11 19:00', '2026-07-11 20:30', NULL, 24, NULL, 'cancelled'),
    (107, 'Poets at the Window', 'reading', 3, 6, NULL, 3, 3, '2026-09-17 18:45', '2026-09-17 19:15', 14, 5, 38, 'held'),
    (108, 'Big Band Matinee', 'concert', 2, 1, NULL, 6, 7, '2026-10-04 10:30', '2026-10-04 11:00', NULL, 15, 201, 'held'),
    (109, 'Paper Lantern Workshop', 'workshop', 5, 4, NULL, 11, 1, '2026-11-28 13:45', '2026-11-28 14:00', 6, 0, NULL, 'planned'),
    (110, 'Carols under Glass', 'concert', 5, 2, NULL, 1, 7, '2026-12-12 17:00', '2026-12-12 18:00', NULL, 0, NULL, 'planned'),
    (111, 'Bookbinding for Beginners', 'workshop', NULL, 6, NULL, 3, 5, '2026-12-05 09:45', '2026-12-05 10:00', 16, 35, NULL, 'planned'),
    (112, 'New Year Reading', 'reading', NULL, 1, NULL, 10, 3, '2027-01-09 18:30', '2027-01-09 19:00', NULL, 8, NULL, 'planned'),
    (113, 'Night Train', 'reading', 3, 1, NULL, 3, 1, '2026-04-16 18:30', '2026-04-16 19:00', 16, 8, 95, 'held');

CREATE TABLE act (
    act_id INTEGER PRIMARY KEY,
    event_id INTEGER NOT NULL REFERENCES event (event_id),
    stage_name TEXT NOT NULL,
    legal_name TEXT,
    country TEXT,
    fee_agreed REAL,
    fee_paid REAL
);
INSERT INTO act VALUES
    (1, 101, 'Nils Ahrend Trio', 'Nils Peter Ahrendsen', 'Denmark', 2400, 2400),
    (2, 103, 'Theatre of Pockets', 'Agnes Kuhn', 'Germany', 700, 700),
    (3, 104, 'Town Symphony', 'Symphony Association', 'Germany', 5200, 4800),
    (4, 104, 'Mira Sol', 'Maria Soledad Pinto', 'Portugal', 1500, 1500),
    (5, 106, 'Rua Clara', 'Clara Ruas Mendes', 'Portugal', 3100, 1550),
    (6, 106, 'Duo Saudade', 'Tiago Lopes', 'Portugal', 1800, 0),
    (7, 107, 'Window Poets', NULL, 'Austria', 600, 600),
    (8, 108, 'Blue Ferry Big Band', 'Karl Otten', 'Germany', 3500, 3500),
    (9, 110, 'Chapel Voices', 'Ellen Grieve', 'Scotland', 1900, 500),
    (10, 112, 'A. K. Stern', 'Anneke Stern-Kovacs', 'Austria', 850, 0);

CREATE TABLE branch (
    branch_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    district TEXT,
    opened_in INTEGER,
    librarian_id INTEGER REFERENCES staff (staff_id)
);
INSERT INTO branch VALUES
    (1, 'Central', 'Centre', 1902, 4),
    (2, 'Northgate', 'Northgate', 1987, 3),
    (3, 'Riverside', 'Riverside', 2011, 10),
    (4, 'Mobile Library', NULL, 2003, 5),
    (5, 'School Library West', 'Westfield', 1976, NULL);

CREATE TABLE patron (
    patron_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    birth_date DATE,
    district TEXT,
    registered_on DATE,
    card_expires_on DATE,
    email TEXT
);
INSERT INTO patron VALUES
    (1001, 'Carla Weiss', '1984-05-02', 'Centre', '2010-01-15', '2027-01-14', 'carla.w@mail.example'),
    (1002, 'Edgar Nowak', '1951-11-23', 'Riverside', '1999-06-01', '2026-12-31', NULL),
    (1003, 'Mia Schulte', '2014-03-30', 'Northgate', '2021-09-10', '2027-09-09', 'family.schulte@mail.example'),
    (1004, 'Ben Schulte', '2016-08-12', 'Northgate', '2023-02-02', '2027-02-01', 'family.schulte@mail.example'),
    (1005, 'Yusuf Demir', '1992-07-19', 'Westfield', '2018-04-20', '2026-04-19', 'yusuf.d@mail.example'),
    (1006, 'Helga Ohm', '1946-01-05', 'Centre', '1988-10-03', '2026-10-02', NULL),
    (1007, 'Sofia Alves', '1999-12-11', 'Riverside', '2024-01-08', '2027-01-07', 'sofia.alves@mail.example'),
    (1008, 'Paul Kern', '2011-02-28', 'Westfield', '2020-08-17', '2027-08-16', NULL),
    (1009, 'Lotte Brun', '1975-09-09', NULL, '2006-03-21', '2027-03-20', 'lotte.brun@mail.example');

CREATE TABLE seat_reservation (
    reservation_id INTEGER PRIMARY KEY,
    event_id INTEGER NOT NULL REFERENCES event (event_id),
    patron_id INTEGER REFERENCES patron (patron_id),
    reserved_on DATE NOT NULL,
    seats INTEGER NOT NULL,
    amount_due REAL,
    collected INTEGER NOT NULL      -- 1 when the tickets were picked up
);
INSERT INTO seat_reservation VALUES
    (1, 101, 1001, '2026-01-20', 2, 36, 1),
    (2, 101, 1002, '2026-02-01', 1, 18, 0),
    (3, 103, 1003, '2026-03-02', 4, 24, 1),
    (4, 104, 1007, '2026-05-11', 2, 44, 1),
    (5, 104, 1001, '2026-05-19', 4, 88, 1),
    (6, 104, NULL, '2026-06-01', 12, 264, 1),
    (7, 105, 1005, '2026-05-30', 2, 18, 1),
    (8, 106, 1007, '2026-06-15', 2, 48, 0),
    (9, 107, 1006, '2026-09-01', 1, 5, 1),
    (10, 108, 1002, '2026-09-22', 2, 30, 1),
    (11, 108, 1009, '2026-09-28', 3, 45, 0),
    (12, 110, 1001, '2026-11-10', 4, 0, 0),
    (13, 111, 1009, '2026-11-15', 1, 35, 0),
    (14, 113, 1002, '2026-03-30', 2, 16, 1),
    (15, 113, 1006, '2026-04-02', 1, 8, 1);

CREATE TABLE book (
    book_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    author TEXT,
    genre TEXT,
    language TEXT,
    original_language TEXT,
    edition_year INTEGER,
    first_edition_year INTEGER,
    copy_count INTEGER
);
INSERT INTO book VALUES
    (501, 'The Salt Road', 'Ines Carrel', 'novel', 'English', 'French', 2012, 1968, 4),
    (502, 'La Route du sel', 'Ines Carrel', 'novel', 'French', 'French', 1999, 1968, 1),
    (503, 'A River in Winter', 'Owen Tarrant', 'novel', 'English', 'English', 1986, 1986, 3),
    (504, 'Bread, Plainly', 'Lucille Amar', 'cooking', 'English', 'French', 2020, 2015, 2),
    (505, 'Le petit phare', 'Claire Dunant', 'picture book', 'French', 'French', 2018, 2018, 2),
    (506, 'Night Train', 'Jiri Havel', 'thriller', 'English', 'Czech', 1979, 1979, 3),
    (507, 'Garden of Small Hours', 'Miriam Toll', 'poetry', 'English', 'English', 1974, 1951, 1),
    (508, 'Stars for Beginners', 'Ulf Renner', 'science', 'English', 'German', 2021, 2009, 2),
    (509, 'Histoire du fleuve', 'Paul Artaud', 'history', 'French', 'German', 2003, 1991, 1),
    (510, 'The Jazz Kitchen', 'Bea Lomax', 'cooking', 'English', 'English', 2016, 2016, 2),
    (511, 'Winter Tales', 'various', 'children', 'English', 'English', 2019, 1938, 3);

CREATE TABLE copy (
    copy_id INTEGER PRIMARY KEY,
    book_id INTEGER NOT NULL REFERENCES book (book_id),
    owner_branch_id INTEGER REFERENCES branch (branch_id),
    current_branch_id INTEGER REFERENCES branch (branch_id),
    purchase_price REAL,
    replacement_price REAL,
    bought_on DATE
);
INSERT INTO copy VALUES
    (9001, 501, 1, 1, 14.9, 22, '2012-05-02'),
    (9002, 501, 1, 3, 14.9, 22, '2012-05-02'),
    (9003, 501, 2, 2, 12.5, 22, '2013-03-11'),
    (9004, 502, 1, 1, 9.8, 19, '2000-01-20'),
    (9005, 503, 1, 4, 8.5, 18, '1990-10-01'),
    (9006, 503, 3, 3, NULL, 18, NULL),
    (9007, 504, 1, 2, 24, 29.5, '2020-11-12'),
    (9008, 504, 3, 3, 24, 29.5, '2020-11-12'),
    (9009, 505, 2, 4, 16, 17.5, '2018-09-03'),
    (9010, 505, 5, 5, 16, 17.5, '2019-01-15'),
    (9011, 506, 1, 1, 6.9, 15, '1981-02-02'),
    (9012, 506, 2, 1, 6.9, 15, '1984-06-19'),
    (9013, 507, 1, 1, 11, 40, '1976-08-08'),
    (9014, 508, 5, 5, 19.9, 21, '2021-04-04'),
    (9015, 508, 3, 1, 19.9, 21, '2021-04-04'),
    (9016, 509, 1, 1, 28, 35, '2004-02-14'),
    (9017, 510, 3, 3, 22, 25, '2016-12-01'),
    (9018, 511, 1, 1, 13, 16, '2019-11-20'),
    (9019, 511, 2, 2, 13, 16, '2019-11-20'),
    (9020, 511, 3, 3, 13, 16, '2019-11-20'),
    (9021, 511, 4, 4, 13, 16, '2020-01-07'),
    (9022, 511, 5, 4, 13, 16, '2020-01-07');

CREATE TABLE loan (
    loan_id INTEGER PRIMARY KEY,
    copy_id INTEGER NOT NULL REFERENCES copy (copy_id),
    patron_id INTEGER NOT NULL REFERENCES patron (patron_id),
    lent_on DATE NOT NULL,
    due_on DATE NOT NULL,
    returned_on DATE,
    renewals INTEGER NOT NULL DEFAULT 0
);
INSERT INTO loan VALUES
    (7001, 9001, 1001, '2025-01-14', '2025-02-11', '2025-02-10', 0),
    (7002, 9011, 1005, '2025-03-03', '2025-03-31', '2025-04-12', 1),
    (7003, 9018, 1003, '2025-11-21', '2025-12-19', '2025-12-19', 0),
    (7004, 9019, 1004, '2025-12-01', '2025-12-29', '2026-01-05', 0),
    (7005, 9007, 1009, '2026-02-10', '2026-03-10', '2026-03-01', 0),
    (7006, 9002, 1002, '2026-04-08', '2026-05-06', '2026-05-04', 0),
    (7007, 9014, 1008, '2026-05-12', '2026-06-09', '2026-06-30', 2),
    (7008, 9005, 1006, '2026-05-20', '2026-06-17', NULL, 0),
    (7009, 9003, 1007, '2026-09-15', '2026-10-13', '2026-10-11', 0),
    (7010, 9020, 1007, '2026-11-02', '2026-11-30', NULL, 0),
    (7011, 9017, 1001, '2026-10-05', '2026-11-02', NULL, 1),
    (7012, 9012, 1002, '2026-11-17', '2026-12-15', NULL, 0);

-- Loans that ended before 2025.
CREATE TABLE loan_archive (
    loan_id INTEGER PRIMARY KEY,
    copy_id INTEGER NOT NULL,
    patron_id INTEGER,
    lent_on DATE NOT NULL,
    due_on DATE NOT NULL,
    returned_on DATE
);
INSERT INTO loan_archive VALUES
    (5101, 9001, 1006, '2022-02-01', '2022-03-01', '2022-02-27'),
    (5102, 9013, NULL, '2022-09-12', '2022-10-10', '2022-11-20'),
    (5103, 9003, 1002, '2023-01-09', '2023-02-06', '2023-02-06'),
    (5104, 9011, 1001, '2023-06-17', '2023-07-15', '2023-07-01'),
    (5105, 9002, NULL, '2023-10-30', '2023-11-27', '2023-12-03'),
    (5106, 9009, 1003, '2024-04-02', '2024-04-30', '2024-04-29'),
    (5107, 9015, 1008, '2024-10-08', '2024-11-05', '2024-11-05');

CREATE TABLE title_reservation (
    reservation_id INTEGER PRIMARY KEY,
    book_id INTEGER NOT NULL REFERENCES book (book_id),
    patron_id INTEGER NOT NULL REFERENCES patron (patron_id),
    reserved_on DATE NOT NULL,
    ready_on DATE,
    collected INTEGER NOT NULL
);
INSERT INTO title_reservation VALUES
    (1, 501, 1005, '2026-03-18', '2026-03-25', 1),
    (2, 506, 1001, '2026-05-04', '2026-05-20', 1),
    (3, 503, 1007, '2026-05-22', NULL, 0),
    (4, 511, 1008, '2026-11-09', '2026-11-12', 0),
    (5, 504, 1006, '2026-05-27', '2026-06-02', 1),
    (6, 510, 1009, '2026-11-20', NULL, 0),
    (7, 503, 1001, '2026-05-29', NULL, 0);

CREATE TABLE room_hire (
    hire_id INTEGER PRIMARY KEY,
    venue_id INTEGER NOT NULL REFERENCES venue (venue_id),
    hirer TEXT NOT NULL,
    hire_date DATE NOT NULL,
    fee_net REAL,
    fee_gross REAL,
    paid_on DATE
);
INSERT INTO room_hire VALUES
    (1, 1, 'Chess Club Riverside', '2026-01-17', 200, 238, '2026-01-10'),
    (2, 2, 'Hobbs Wholesale', '2026-02-20', 1500, 1785, '2026-03-18'),
    (3, 2, 'Food Bank', '2026-03-14', 0, 0, NULL),
    (4, 4, 'Yoga Northgate', '2026-03-28', 120, 142.8, '2026-04-02'),
    (5, 1, 'Wedding Keller/Lang', '2026-05-09', 900, 1071, '2026-04-30'),
    (6, 6, 'Historical Society', '2026-09-10', 80, 80, '2026-09-30'),
    (7, 2, 'Stamp Fair', '2026-10-18', 1100, 1309, NULL),
    (8, 4, 'Tango Society', '2026-11-06', 150, 178.5, '2026-11-20');
