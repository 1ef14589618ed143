-- A hospital's outpatient clinic: patients, appointments, referrals, findings, prescriptions and bills.

CREATE TABLE insurer (
    ins_id INTEGER PRIMARY KEY,
    ins_name TEXT NOT NULL,
    ins_kind TEXT, -- public, private
    payer_code TEXT
);

CREATE TABLE ext_doctor (
    ed_id INTEGER PRIMARY KEY,
    ed_name TEXT NOT NULL,
    ed_specialty TEXT,
    ed_practice TEXT,
    ed_city TEXT,
    ed_fax TEXT
);

CREATE TABLE provider (
    prov_id INTEGER PRIMARY KEY,
    prov_name TEXT NOT NULL,
    prov_role TEXT, -- doctor, nurse, clerk
    specialty TEXT,
    dept_id INTEGER REFERENCES dept (dept_id),
    prov_dob TEXT,
    licence_no TEXT,
    start_dt TEXT
);

CREATE TABLE dept (
    dept_id INTEGER PRIMARY KEY,
    dept_name TEXT NOT NULL,
    building TEXT,
    head_id INTEGER REFERENCES provider (prov_id), -- medical
    manager_id INTEGER REFERENCES provider (prov_id) -- administrative
);

CREATE TABLE patient (
    pat_id INTEGER PRIMARY KEY,
    pat_surname TEXT NOT NULL,
    pat_given TEXT,
    pat_birth_surname TEXT,
    dob TEXT,
    sex_at_birth TEXT, -- f, m
    gender TEXT, -- as stated: f, m, x
    home_addr TEXT,
    postal_addr TEXT,
    landline TEXT,
    cell_no TEXT,
    lang TEXT,
    gp_id INTEGER REFERENCES ext_doctor (ed_id),
    ins_id INTEGER REFERENCES insurer (ins_id),
    noshow_cnt INTEGER, -- kept by hand at the desk
    reg_dt TEXT
);

CREATE TABLE referral (
    ref_id INTEGER PRIMARY KEY,
    pat_id INTEGER REFERENCES patient (pat_id),
    from_ed_id INTEGER REFERENCES ext_doctor (ed_id),
    to_dept_id INTEGER REFERENCES dept (dept_id),
    ref_icd TEXT,
    urgency TEXT, -- routine, urgent
    written_dt TEXT,
    received_dt TEXT
);

CREATE TABLE appt (
    appt_id INTEGER PRIMARY KEY,
    pat_id INTEGER NOT NULL REFERENCES patient (pat_id),
    prov_id INTEGER REFERENCES provider (prov_id),
    booked_by INTEGER,
    appt_type TEXT, -- first, follow-up, urgent
    appt_status TEXT, -- booked, done, no-show, cancelled
    booked_at TEXT,
    sched_start TEXT,
    arrived_at TEXT,
    seen_at TEXT,
    sched_min INTEGER,
    actual_min INTEGER
);

CREATE TABLE vitals (
    appt_id INTEGER PRIMARY KEY REFERENCES appt (appt_id),
    weight_kg REAL,
    height_cm INTEGER,
    bp_sys INTEGER,
    bp_dia INTEGER,
    pulse INTEGER
);

CREATE TABLE diag (
    diag_id INTEGER PRIMARY KEY,
    appt_id INTEGER REFERENCES appt (appt_id),
    icd TEXT,
    diag_text TEXT,
    is_main INTEGER,
    onset_dt TEXT
);

CREATE TABLE drug (
    drug_id INTEGER PRIMARY KEY,
    brand_name TEXT,
    generic_name TEXT,
    form TEXT,
    rx_only INTEGER,
    pharmacy_price REAL,
    copay REAL
);

CREATE TABLE rx (
    rx_id INTEGER PRIMARY KEY,
    pat_id INTEGER REFERENCES patient (pat_id),
    drug_id INTEGER REFERENCES drug (drug_id),
    prescriber_id INTEGER REFERENCES provider (prov_id),
    dose_mg REAL,
    max_dose_mg REAL,
    issued_dt TEXT,
    start_dt TEXT,
    end_dt TEXT
);

CREATE TABLE lab_order (
    lab_id INTEGER PRIMARY KEY,
    pat_id INTEGER REFERENCES patient (pat_id),
    test_name TEXT,
    result_val REAL,
    unit TEXT,
    sampled_dt TEXT,
    reported_dt TEXT,
    ordered_by INTEGER REFERENCES provider (prov_id),
    reviewed_by INTEGER REFERENCES provider (prov_id)
);

CREATE TABLE allergy (
    pat_id INTEGER REFERENCES patient (pat_id),
    substance TEXT,
    severity TEXT,
    reported_dt TEXT,
    confirmed_dt TEXT,
    PRIMARY KEY (pat_id, substance)
);

CREATE TABLE bill (
    bill_id INTEGER PRIMARY KEY,
    pat_id INTEGER REFERENCES patient (pat_id),
    appt_id INTEGER,
    bill_dt TEXT,
    amt_billed REAL,
    amt_paid REAL,
    ins_share REAL,
    pat_share REAL,
    bill_status TEXT
);

CREATE TABLE bill_item (
    bill_id INTEGER REFERENCES bill (bill_id),
    item_no INTEGER,
    svc_code TEXT,
    svc_text TEXT,
    fee REAL,
    PRIMARY KEY (bill_id, item_no)
);

INSERT INTO insurer VALUES
    (1, 'Allgemeine Kasse', 'public', 'AK01'),
    (2, 'Helvia Privat', 'private', 'HV77'),
    (3, 'Nordcare', 'public', 'NC20'),
    (4, 'Medisure International', 'private', NULL),
    (5, 'Bergkasse', 'public', 'BK09');

INSERT INTO ext_doctor VALUES
    (51, 'Dr Moreau', 'general practice', 'Praxis am Markt', 'Thun', '033 555 51 51'),
    (52, 'Dr Baumgartner', 'general practice', 'Seepraxis', 'Spiez', NULL),
    (53, 'Dr Imhof', 'dermatology', 'Haut und Laser', 'Bern', '031 555 53 53'),
    (54, 'Dr Castelli', 'paediatrics', 'Kinderpraxis Castelli', 'Thun', '033 555 54 54'),
    (55, 'Dr Wyss', 'general practice', 'Landpraxis Wyss', 'Frutigen', '033 555 55 55'),
    (56, 'Dr Feld', 'cardiology', 'Herz im Zentrum', 'Bern', '031 555 56 56');

INSERT INTO dept VALUES
    (1, 'Dermatology', 'A', 101, 106),
    (2, 'Cardiology', 'B', 103, 107),
    (3, 'Endocrinology', 'B', 104, 107),
    (4, 'Neurology', 'C', 105, 106),
    (5, 'Ophthalmology', 'C', NULL, 107);

INSERT INTO provider VALUES
    (101, 'Dr Helene Osei', 'doctor', 'dermatology', 1, '1962-03-14', 'L-20114', '2003-05-01'),
    (102, 'Dr Yuki Sato', 'doctor', 'dermatology', 1, '1985-10-02', 'L-38820', '2018-09-01'),
    (103, 'Dr Paul Gerber', 'doctor', 'cardiology', 2, '1959-12-21', 'L-17755', '1999-01-01'),
    (104, 'Dr Rana Haddad', 'doctor', 'endocrinology', 3, '1978-07-08', 'L-31007', '2012-03-15'),
    (105, 'Dr Erik Lindgren', 'doctor', 'neurology', 4, '1970-04-29', 'L-26640', '2009-08-01'),
    (106, 'Vera Kunz', 'clerk', NULL, 1, '1981-01-30', NULL, '2010-02-01'),
    (107, 'Otto Frei', 'clerk', NULL, 2, '1964-06-17', NULL, '1994-11-01'),
    (108, 'Amina Diallo', 'nurse', NULL, 2, '1992-09-09', 'N-50121', '2020-04-01'),
    (109, 'Jonas Ruf', 'nurse', NULL, 1, '1995-02-11', NULL, '2024-08-01');

INSERT INTO patient VALUES
    (1001, 'Zeller', 'Margrit', 'Amstutz', '1948-11-02', 'f', 'f', 'Dorfweg 4, Spiez', 'Dorfweg 4, Spiez', '033 555 10 01', NULL, 'de', 52, 1, 0, '2015-03-02'),
    (1002, 'Kaya', 'Ben', 'Kaya', '2011-06-19', 'm', 'm', 'Bahnhofstr. 11, Thun', 'Bahnhofstr. 11, Thun', '033 555 10 02', '079 555 10 02', 'tr', 54, 3, 1, '2022-01-17'),
    (1003, 'Lind', 'Ida', 'Lind', '1989-04-05', 'f', 'f', 'Seestr. 90, Thun', 'Postfach 12, Thun', NULL, '079 555 10 03', 'sv', 51, 2, 2, '2020-10-08'),
    (1004, 'Berset', 'Luc', 'Berset', '1957-08-23', 'm', 'm', 'Rue du Lac 3, Biel', 'Rue du Lac 3, Biel', '032 555 10 04', '078 555 10 04', 'fr', 51, 1, 0, '2018-05-29'),
    (1005, 'Rossi', 'Alex', 'Rossi', '1996-01-12', 'f', 'm', 'Quai 7, Thun', 'Via Pioda 2, Lugano', NULL, '076 555 10 05', 'it', 55, 5, 3, '2023-02-20'),
    (1006, 'Hodel', 'Werner', 'Hodel', '1939-02-28', 'm', 'm', 'Heim Sonnhalde, Frutigen', 'c/o A. Hodel, Bern', '033 555 10 06', NULL, 'de', 55, 5, 0, '2011-09-13'),
    (1007, 'Novak', 'Jana', 'Kolar', '1975-12-09', 'f', 'f', 'Feldweg 2, Spiez', 'Feldweg 2, Spiez', '033 555 10 07', '079 555 10 07', 'cs', 52, 4, 1, '2019-11-04'),
    (1008, 'Frey', 'Sascha', 'Frey', '2002-05-30', 'm', 'x', 'Allmend 15, Thun', 'Allmend 15, Thun', NULL, '077 555 10 08', 'de', NULL, 3, 0, '2024-06-06'),
    (1009, 'Tanner', 'Mia', 'Tanner', '2018-09-16', 'f', 'f', 'Rainweg 8, Thun', 'Rainweg 8, Thun', '033 555 10 09', '079 555 10 09', 'de', 54, 1, 0, '2025-01-23'),
    (1010, 'Bucher', 'Kim', 'Stalder', '1983-03-03', 'm', 'f', 'Hang 1, Bern', 'Hang 1, Bern', NULL, '079 555 10 10', 'de', 51, 2, 0, '2021-07-27');

INSERT INTO referral VALUES
    (301, 1001, 52, 3, 'E11', 'routine', '2025-08-20', '2025-08-25'),
    (302, 1002, 54, 1, 'L20', 'routine', '2025-09-02', '2025-09-03'),
    (303, 1003, 53, 1, 'D22', 'urgent', '2025-10-06', '2025-10-06'),
    (304, 1004, 56, 2, 'I20', 'urgent', '2025-10-10', '2025-10-13'),
    (305, 1006, 55, 4, 'G20', 'routine', '2025-09-15', '2025-09-22'),
    (306, 1007, 52, 4, 'G43', 'routine', '2025-07-28', '2025-08-01'),
    (307, 1009, 54, 1, 'L50', 'urgent', '2025-10-24', '2025-10-24'),
    (308, 1010, 53, 1, 'L70', 'routine', '2025-05-05', '2025-05-12');

INSERT INTO appt VALUES
    (2001, 1001, 104, 107, 'first', 'done', '2025-08-26', '2025-09-18 09:00', '2025-09-18 08:50', '2025-09-18 09:10', 40, 45),
    (2002, 1002, 102, 106, 'first', 'no-show', '2025-09-04', '2025-09-24 14:00', NULL, NULL, 30, NULL),
    (2003, 1002, 102, 106, 'follow-up', 'done', '2025-09-25', '2025-10-08 15:30', '2025-10-08 15:20', '2025-10-08 15:38', 20, 15),
    (2004, 1003, 101, 106, 'urgent', 'done', '2025-10-06', '2025-10-08 10:00', '2025-10-08 09:40', '2025-10-08 10:30', 20, 35),
    (2005, 1004, 103, 107, 'urgent', 'done', '2025-10-13', '2025-10-14 08:00', '2025-10-14 07:45', '2025-10-14 07:55', 30, 50),
    (2006, 1005, 104, 107, 'first', 'no-show', '2025-07-01', '2025-08-12 11:00', NULL, NULL, 40, NULL),
    (2007, 1005, 104, 107, 'first', 'no-show', '2025-08-13', '2025-09-16 11:00', NULL, NULL, 40, NULL),
    (2008, 1006, 105, 106, 'first', 'done', '2025-09-23', '2025-10-30 13:00', '2025-10-30 12:30', '2025-10-30 13:40', 40, 55),
    (2009, 1007, 105, 106, 'first', 'done', '2025-08-04', '2025-09-29 09:30', '2025-09-29 09:25', '2025-09-29 09:32', 40, 38),
    (2010, 1007, 105, 108, 'follow-up', 'no-show', '2025-09-29', '2025-10-27 09:30', NULL, NULL, 20, NULL),
    (2011, 1009, 101, 106, 'first', 'done', '2025-10-24', '2025-10-31 08:30', '2025-10-31 08:20', '2025-10-31 08:35', 30, 25),
    (2012, 1010, 102, 106, 'first', 'done', '2025-05-13', '2025-07-03 16:00', '2025-07-03 15:50', '2025-07-03 16:20', 30, 30),
    (2013, 1003, 101, 109, 'follow-up', 'no-show', '2025-10-08', '2025-11-05 10:00', NULL, NULL, 20, NULL),
    (2014, 1008, 103, 108, 'urgent', 'done', '2025-10-20', '2025-10-20 17:00', '2025-10-20 16:30', '2025-10-20 17:15', 20, 20),
    (2015, 1001, 104, 107, 'follow-up', 'booked', '2025-09-18', '2025-12-11 09:00', NULL, NULL, 20, NULL);

INSERT INTO vitals VALUES
    (2001, 81.5, 163, 148, 86, 78),
    (2003, 48.0, 156, 108, 64, 82),
    (2004, 63.2, 171, 118, 76, 70),
    (2005, 94.0, 178, 166, 98, 91),
    (2008, 70.4, 169, 152, 74, 66),
    (2009, 58.9, 165, 124, 80, 72),
    (2012, 77.0, 180, 131, 92, 68),
    (2014, 72.3, 175, 139, 84, 104);

INSERT INTO diag VALUES
    (1, 2001, 'E11', 'type 2 diabetes', 1, '2019-01-01'),
    (2, 2001, 'I10', 'hypertension', 0, '2014-06-01'),
    (3, 2003, 'L20', 'atopic dermatitis', 1, '2013-03-01'),
    (4, 2004, 'L82', 'seborrhoeic keratosis', 1, NULL),
    (5, 2005, 'I21', 'myocardial infarction', 1, '2025-10-12'),
    (6, 2005, 'I10', 'hypertension', 0, NULL),
    (7, 2008, 'G20', 'Parkinson disease', 1, '2024-05-01'),
    (8, 2009, 'G44', 'tension headache', 1, '2025-02-01'),
    (9, 2011, 'L50', 'urticaria', 1, '2025-10-20'),
    (10, 2012, 'L70', 'acne', 1, '2024-11-01'),
    (11, 2014, 'F41', 'panic attack', 1, '2025-10-20');

INSERT INTO drug VALUES
    (1, 'Metfor', 'metformin', 'tablet', 1, 12.40, 3.00),
    (2, 'Glucasan', 'metformin', 'tablet', 1, 9.80, 3.00),
    (3, 'Dermacort', 'hydrocortisone', 'cream', 0, 14.90, 14.90),
    (4, 'Cetirin', 'cetirizine', 'drops', 0, 8.50, 8.50),
    (5, 'Cetirin Forte', 'cetirizine', 'tablet', 0, 11.20, 5.00),
    (6, 'Prolol', 'metoprolol', 'tablet', 1, 16.70, 4.00),
    (7, 'Levodop', 'levodopa', 'tablet', 1, 48.30, 10.00),
    (8, 'Oculin', 'timolol', 'drops', 1, 22.00, 5.00),
    (9, 'Aspicard', 'acetylsalicylic acid', 'tablet', 0, 6.90, 6.90);

INSERT INTO rx VALUES
    (401, 1001, 1, 104, 1000, 2000, '2025-09-18', '2025-09-20', '2026-03-20'),
    (402, 1002, 3, 102, 10, 20, '2025-10-08', '2025-10-08', '2025-10-29'),
    (403, 1002, 4, 102, 5, 10, '2025-10-08', '2025-10-08', '2025-11-08'),
    (404, 1004, 6, 103, 100, 200, '2025-10-14', '2025-10-14', NULL),
    (405, 1004, 9, 103, 100, 300, '2025-10-14', '2025-10-15', NULL),
    (406, 1006, 7, 105, 900, 800, '2025-10-30', '2025-11-03', '2026-05-03'),
    (407, 1009, 4, 101, 5, 5, '2025-10-31', '2025-10-31', '2025-11-14'),
    (408, 1010, 5, 102, 10, 10, '2025-07-03', '2025-07-03', '2025-09-03'),
    (409, 1001, 6, 104, 250, 200, '2025-09-18', '2025-09-18', '2026-03-18'),
    (410, 1003, 3, 101, 10, 20, '2025-10-08', '2025-10-09', '2025-10-23');

INSERT INTO lab_order VALUES
    (601, 1001, 'HbA1c', 7.9, '%', '2025-09-18', '2025-09-19', 104, 104),
    (602, 1001, 'creatinine', 88, 'umol/l', '2025-09-18', '2025-09-18', 104, 103),
    (603, 1004, 'troponin', 310, 'ng/l', '2025-10-14', '2025-10-14', 103, 103),
    (604, 1004, 'LDL', 4.6, 'mmol/l', '2025-10-14', '2025-10-15', 103, 104),
    (605, 1006, 'TSH', 2.1, 'mU/l', '2025-10-30', '2025-10-31', 105, 104),
    (606, 1009, 'IgE', 412, 'kU/l', '2025-10-31', '2025-11-04', 101, 102),
    (607, 1003, 'biopsy', NULL, NULL, '2025-10-08', '2025-10-17', 101, 101),
    (608, 1008, 'troponin', 5, 'ng/l', '2025-10-20', '2025-10-20', 103, NULL),
    (609, 1002, 'IgE', 655, 'kU/l', '2025-10-08', '2025-10-14', 102, 101);

INSERT INTO allergy VALUES
    (1001, 'penicillin', 'severe', '2015-03-02', '2015-04-10'),
    (1002, 'cat hair', 'moderate', '2022-01-17', '2022-02-28'),
    (1003, 'nickel', 'mild', '2020-10-08', NULL),
    (1007, 'ibuprofen', 'moderate', '2019-11-04', NULL),
    (1009, 'peanut', 'severe', '2025-01-23', '2025-10-31'),
    (1010, 'latex', 'mild', '2021-07-27', '2021-08-19');

INSERT INTO bill VALUES
    (8001, 1001, 2001, '2025-09-30', 310.00, 310.00, 279.00, 31.00, 'paid'),
    (8002, 1002, 2003, '2025-10-15', 140.00, 140.00, 140.00, 0.00, 'paid'),
    (8003, 1003, 2004, '2025-10-15', 420.00, 300.00, 300.00, 120.00, 'part paid'),
    (8004, 1004, 2005, '2025-10-20', 865.00, 778.50, 778.50, 86.50, 'in dispute'),
    (8005, 1006, 2008, '2025-11-03', 390.00, 0.00, 351.00, 39.00, 'open'),
    (8006, 1007, 2009, '2025-10-06', 260.00, 200.00, 180.00, 80.00, 'part paid'),
    (8007, 1009, 2011, '2025-11-05', 225.00, 0.00, 225.00, 0.00, 'open'),
    (8008, 1010, 2012, '2025-07-10', 180.00, 180.00, 150.00, 30.00, 'paid'),
    (8009, 1008, 2014, '2025-10-28', 295.00, 0.00, 265.50, 29.50, 'open');

INSERT INTO bill_item VALUES
    (8001, 1, 'C20', 'first consultation', 180), (8001, 2, 'L05', 'laboratory', 130),
    (8002, 1, 'C10', 'follow-up consultation', 140),
    (8003, 1, 'C30', 'urgent consultation', 220), (8003, 2, 'D14', 'skin biopsy', 200),
    (8004, 1, 'C30', 'urgent consultation', 220), (8004, 2, 'K02', 'ECG', 95), (8004, 3, 'K09', 'echocardiography', 420), (8004, 4, 'L05', 'laboratory', 130),
    (8005, 1, 'C20', 'first consultation', 180), (8005, 2, 'N03', 'motor test', 210),
    (8006, 1, 'C20', 'first consultation', 180), (8006, 2, 'N01', 'headache diary', 80),
    (8007, 1, 'C20', 'first consultation', 180), (8007, 2, 'L01', 'blood sample', 45),
    (8008, 1, 'C20', 'first consultation', 180),
    (8009, 1, 'C30', 'urgent consultation', 200), (8009, 2, 'K02', 'ECG', 95);
