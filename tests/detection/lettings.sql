-- A property management company: houses of several owners, their flats, tenants, repairs and invoices.

CREATE TABLE owner (
    owner_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    email TEXT,
    phone TEXT,
    correspondence_address TEXT,
    billing_address TEXT,
    client_since DATE,
    management_fee_pct REAL
);

CREATE TABLE staff (
    staff_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    job_title TEXT,
    email TEXT,
    extension TEXT,
    hired_on DATE,
    left_on DATE,
    line_manager_id INTEGER REFERENCES staff (staff_id),
    mentor_id INTEGER
);

CREATE TABLE property (
    property_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    street TEXT,
    postcode TEXT,
    city TEXT,
    owner_id INTEGER REFERENCES owner (owner_id),
    property_manager_id INTEGER REFERENCES staff (staff_id),
    caretaker_id INTEGER REFERENCES staff (staff_id),
    built_year INTEGER,
    refurbished_year INTEGER,
    purchase_price NUMERIC,
    insured_value NUMERIC
);

CREATE TABLE unit (
    unit_id INTEGER PRIMARY KEY,
    property_id INTEGER NOT NULL REFERENCES property (property_id),
    unit_code TEXT NOT NULL,
    kind TEXT, -- flat, garage, shop
    floor INTEGER,
    bedrooms INTEGER,
    gross_area_sqm REAL,
    net_area_sqm REAL,
    balcony INTEGER,
    parking INTEGER,
    asking_rent NUMERIC,
    status TEXT -- let, vacant, under works
);

CREATE TABLE tenant (
    tenant_id INTEGER PRIMARY KEY,
    title TEXT,
    first_name TEXT,
    last_name TEXT,
    email TEXT,
    mobile_phone TEXT,
    work_phone TEXT,
    date_of_birth DATE,
    previous_city TEXT,
    guarantor_name TEXT
);

CREATE TABLE tenancy (
    tenancy_id INTEGER PRIMARY KEY,
    unit_id INTEGER NOT NULL REFERENCES unit (unit_id),
    tenant_id INTEGER NOT NULL REFERENCES tenant (tenant_id),
    signed_on DATE,
    start_date DATE,
    notice_given_on DATE,
    planned_move_out DATE,
    actual_move_out DATE,
    base_rent NUMERIC,
    total_rent NUMERIC, -- base rent and service charge
    deposit_agreed NUMERIC,
    deposit_received NUMERIC
);

CREATE TABLE tenancy_archive (
    tenancy_id INTEGER PRIMARY KEY,
    unit_id INTEGER,
    tenant_id INTEGER,
    start_date DATE,
    end_date DATE,
    total_rent NUMERIC,
    deposit_returned NUMERIC,
    archived_at DATE
);

CREATE TABLE contractor (
    contractor_id INTEGER PRIMARY KEY,
    company_name TEXT NOT NULL,
    trade TEXT,
    email TEXT,
    office_phone TEXT,
    emergency_phone TEXT,
    hourly_rate NUMERIC,
    callout_fee NUMERIC,
    insured_until DATE,
    rating INTEGER
);

CREATE TABLE repair_request (
    repair_id INTEGER PRIMARY KEY,
    unit_id INTEGER REFERENCES unit (unit_id),
    tenant_id INTEGER REFERENCES tenant (tenant_id),
    title TEXT,
    priority TEXT,
    status TEXT,
    reported_on DATE,
    closed_on DATE,
    logged_by INTEGER REFERENCES staff (staff_id),
    assigned_to INTEGER REFERENCES staff (staff_id)
);

CREATE TABLE work_order (
    work_order_id INTEGER PRIMARY KEY,
    repair_id INTEGER REFERENCES repair_request (repair_id),
    contractor_id INTEGER REFERENCES contractor (contractor_id),
    status TEXT,
    ordered_on DATE,
    scheduled_for DATE,
    completed_on DATE,
    quoted_amount NUMERIC,
    invoiced_amount NUMERIC,
    hours_worked REAL
);

CREATE TABLE rent_invoice (
    invoice_no TEXT PRIMARY KEY,
    tenancy_id INTEGER REFERENCES tenancy (tenancy_id),
    issued_on DATE,
    due_on DATE,
    total_due NUMERIC, -- after discounts and late fees agreed by phone
    paid_on DATE,
    reminder_level INTEGER
);

CREATE TABLE rent_invoice_line (
    invoice_no TEXT REFERENCES rent_invoice (invoice_no),
    line_no INTEGER,
    item TEXT,
    amount NUMERIC,
    PRIMARY KEY (invoice_no, line_no)
);

CREATE TABLE contractor_invoice (
    invoice_no TEXT PRIMARY KEY,
    work_order_id INTEGER REFERENCES work_order (work_order_id),
    issued_on DATE,
    due_on DATE,
    net_amount NUMERIC,
    vat_amount NUMERIC,
    gross_amount NUMERIC,
    paid_on DATE,
    approved_by INTEGER
);

CREATE TABLE payment (
    payment_id INTEGER PRIMARY KEY,
    invoice_no TEXT, -- of rent_invoice
    amount NUMERIC,
    method TEXT,
    value_date DATE,
    booked_on DATE
);

CREATE TABLE inspection (
    inspection_id INTEGER PRIMARY KEY,
    unit_id INTEGER REFERENCES unit (unit_id),
    kind TEXT,
    planned_for DATE,
    carried_out_on DATE,
    inspector_id INTEGER REFERENCES staff (staff_id),
    result TEXT
);

INSERT INTO owner VALUES
    (1, 'Harriet Lund', 'h.lund@lundestates.example', '0113 496 0101', '4 Priory Walk, Leeds', '4 Priory Walk, Leeds', '2012-04-01', 8.0),
    (2, 'Samuel Okafor', 'sam.okafor@mail.example', '0161 496 0233', '19 Cable Street, Salford', '2 Dock Office, Liverpool', '2016-09-15', 9.5),
    (3, 'Brennan Family Trust', 'office@brennantrust.example', '0114 496 0870', '88 Norfolk Row, Sheffield', 'PO Box 114, Leeds', '2009-01-10', 7.0),
    (4, 'Pia Castellan', NULL, '0113 496 0777', '7 Oakhill Lane, York', '7 Oakhill Lane, York', '2021-06-30', 10.0),
    (5, 'Redgate Holdings', 'accounts@redgate.example', '0161 496 0345', '1 Redgate House, Manchester', '300 Finance Way, Sheffield', '2018-03-22', 7.5),
    (6, 'Gwen Tolliver', 'gwen.t@mail.example', NULL, '52 Vicarage Road, Leeds', '11 Pinder Close, Leeds', '2023-11-05', 10.0);

INSERT INTO staff VALUES
    (1, 'Anna Whitcombe', 'Head of lettings', 'anna@lettings.example', '101', '2010-02-01', NULL, NULL, NULL),
    (2, 'Bashir Rahman', 'Property manager', 'bashir@lettings.example', '102', '2014-05-12', NULL, 1, 1),
    (3, 'Cleo Marchetti', 'Property manager', 'cleo@lettings.example', '103', '2019-09-02', NULL, 1, 2),
    (4, 'Dougal Price', 'Caretaker', 'dougal@lettings.example', NULL, '2015-03-16', NULL, 2, 5),
    (5, 'Elif Sahin', 'Caretaker', 'elif@lettings.example', NULL, '2011-11-07', NULL, 3, 1),
    (6, 'Farah Nadeem', 'Front desk', 'farah@lettings.example', '110', '2022-01-10', NULL, 1, 3),
    (7, 'Gareth Boyle', 'Inspector', 'gareth@lettings.example', '115', '2017-07-03', NULL, 2, 2),
    (8, 'Hana Novak', 'Accounts clerk', 'hana@lettings.example', '120', '2020-10-19', '2025-03-31', 1, 6);

INSERT INTO property VALUES
    (1, 'Marsh Court', '12 Marsh Lane', 'LS9 8AA', 'Leeds', 1, 2, 4, 1974, 2011, 1450000, 2100000),
    (2, 'Tannery House', '3 Tannery Row', 'LS10 1PQ', 'Leeds', 3, 3, 5, 1902, 2016, 2200000, 1900000),
    (3, 'Canal View', '40 Quay Road', 'M5 4TU', 'Salford', 2, 2, 5, 2008, NULL, 1980000, 2350000),
    (4, 'The Limes', '9 Lime Grove', 'YO24 1BB', 'York', 4, 3, 4, 1988, 2020, 760000, 890000),
    (5, 'Redgate Yard', '1 Redgate', 'M1 2WD', 'Manchester', 5, 2, NULL, 2015, NULL, 3100000, 2800000),
    (6, 'Pinder Terrace', '2-10 Pinder Close', 'LS12 3DE', 'Leeds', 6, 3, 4, 1956, 2003, 640000, 1010000),
    (7, 'Brennan Lofts', '77 Wicker', 'S3 8HT', 'Sheffield', 3, 2, 5, 1911, 2018, 1750000, 2050000);

INSERT INTO unit VALUES
    (1, 1, 'MC-01', 'flat', 0, 2, 68.0, 59.5, 0, 1, 850, 'let'),
    (2, 1, 'MC-02', 'flat', 1, 2, 66.0, 61.0, 1, 1, 880, 'let'),
    (3, 1, 'MC-G1', 'garage', 0, NULL, 15.0, 15.0, 0, 0, 70, 'vacant'),
    (4, 2, 'TH-11', 'flat', 1, 1, 48.5, 42.0, 1, 0, 795, 'vacant'),
    (5, 2, 'TH-12', 'flat', 1, 3, 101.0, 88.5, 1, 1, 1450, 'let'),
    (6, 2, 'TH-S1', 'shop', 0, NULL, 120.0, 97.0, 0, 0, 2100, 'let'),
    (7, 3, 'CV-21', 'flat', 2, 2, 74.0, 66.5, 1, 1, 1120, 'let'),
    (8, 3, 'CV-22', 'flat', 2, 1, 52.0, 47.0, 1, 0, 940, 'under works'),
    (9, 3, 'CV-G4', 'garage', 0, NULL, 14.0, 14.0, 0, 0, 85, 'let'),
    (10, 4, 'LM-A', 'flat', 0, 3, 92.0, 83.0, 0, 1, 1180, 'let'),
    (11, 4, 'LM-B', 'flat', 1, 3, 90.0, 81.5, 1, 0, 1210, 'vacant'),
    (12, 5, 'RY-05', 'flat', 5, 1, 45.0, 40.5, 0, 0, 1050, 'let'),
    (13, 6, 'PT-02', 'flat', 0, 2, 61.0, 55.0, 0, 0, 720, 'let'),
    (14, 7, 'BL-31', 'flat', 3, 2, 86.0, 78.0, 1, 1, 990, 'vacant');

INSERT INTO tenant VALUES
    (1, 'Mr', 'Owen', 'Halloran', 'owen.h@mail.example', '07700 900101', '0113 496 0901', '1984-07-19', 'Hull', NULL),
    (2, 'Ms', 'Ngozi', 'Okafor', 'ngozi.okafor@mail.example', '07700 900102', NULL, '1991-02-03', 'London', 'Samuel Okafor'),
    (3, 'Dr', 'Ilse', 'Brandt', 'ilse.brandt@clinic.example', '07700 900103', '0113 496 0333', '1979-12-30', 'Kassel', NULL),
    (4, 'Mrs', 'Joan', 'Petrie', NULL, '07700 900104', '0161 496 0555', '1952-05-08', 'Salford', 'Mark Petrie'),
    (5, 'Mr', 'Tomasz', 'Zielinski', 't.zielinski@mail.example', '07700 900105', NULL, '1996-10-11', 'Leeds', 'Ewa Zielinska'),
    (6, 'Ms', 'Carmen', 'Ruiz', 'carmen@ruizflowers.example', '07700 900106', '0113 496 0606', '1987-03-25', 'Leeds', NULL),
    (7, 'Mr', 'Lee', 'Ashdown', 'lee.ashdown@mail.example', '07700 900107', '01904 496 012', '1990-08-14', 'York', NULL),
    (8, 'Dr', 'Priya', 'Nair', 'priya.nair@uni.example', NULL, '0161 496 0808', '1988-01-17', 'Leicester', NULL),
    (9, 'Ms', 'Bea', 'Lindqvist', 'bea.l@mail.example', '07700 900109', NULL, '2001-06-21', 'Hull', 'Karin Lindqvist'),
    (10, 'Mr', 'Abel', 'Mensah', 'abel.mensah@mail.example', '07700 900110', '0114 496 0410', '1975-09-09', 'Sheffield', NULL);

INSERT INTO tenancy VALUES
    (101, 1, 1, '2022-10-20', '2022-12-01', NULL, NULL, NULL, 690, 845, 1035, 1035),
    (102, 2, 2, '2023-12-18', '2024-01-15', '2025-06-01', '2025-08-31', '2025-09-06', 720, 870, 1080, 1080),
    (103, 5, 3, '2021-03-03', '2021-04-01', NULL, NULL, NULL, 1190, 1420, 1785, 1785),
    (104, 6, 6, '2020-01-09', '2020-02-01', NULL, NULL, NULL, 1800, 2050, 5400, 4000),
    (105, 7, 4, '2022-04-25', '2022-05-15', '2025-10-02', '2026-01-02', NULL, 930, 1090, 1395, 1395),
    (106, 9, 4, '2022-04-25', '2022-06-01', NULL, NULL, NULL, 80, 80, 0, NULL),
    (107, 10, 7, '2023-07-11', '2023-08-01', NULL, NULL, NULL, 980, 1160, 1470, 735),
    (108, 12, 8, '2024-08-30', '2024-10-01', '2025-08-20', '2025-11-30', '2025-11-21', 900, 1030, 1350, 1350),
    (109, 13, 5, '2025-01-14', '2025-02-01', NULL, NULL, NULL, 580, 715, 870, 500),
    (110, 8, 9, '2023-12-29', '2024-01-01', '2025-05-30', '2025-07-31', '2025-07-15', 790, 925, 1185, 1185),
    (111, 14, 10, '2022-11-30', '2023-01-01', '2025-01-15', '2025-03-31', '2025-03-31', 840, 985, 1260, 1260);

INSERT INTO tenancy_archive VALUES
    (41, 1, 9, '2019-03-01', '2022-10-31', 760, 900, '2023-01-05'),
    (42, 5, 10, '2017-09-01', '2021-02-28', 1250, 1500, '2021-06-01'),
    (43, 7, 8, '2022-01-01', '2022-04-30', 1010, 0, '2022-09-12'),
    (44, 10, 5, '2020-06-15', '2023-06-30', 1020, 1150, '2023-10-02'),
    (45, 12, 2, '2021-08-01', '2023-12-31', 960, 1200, '2024-04-11'),
    (46, 13, 7, '2018-02-01', '2023-07-15', 610, 700, '2023-11-20');

INSERT INTO contractor VALUES
    (1, 'Brightspark Electrical', 'electrician', 'jobs@brightspark.example', '0113 496 2001', '07700 900901', 52, 75, '2026-03-31', 5),
    (2, 'Flowright Plumbing', 'plumber', 'office@flowright.example', '0113 496 2002', '07700 900902', 48, 60, '2025-08-31', 4),
    (3, 'Penrose & Daughter', 'joiner', 'hello@penrose.example', '0114 496 2003', NULL, 40, 0, '2026-01-15', 5),
    (4, 'Northern Heating', 'heating engineer', 'service@northheat.example', '0161 496 2004', '07700 900904', 65, 95, '2025-12-31', 3),
    (5, 'CleanSweep Pest Control', 'pest control', NULL, '0161 496 2005', '07700 900905', 58, 40, NULL, 2),
    (6, 'Aqua Drains', 'plumber', 'info@aquadrains.example', '0114 496 2006', '07700 900906', 45, 110, '2026-06-30', 4);

INSERT INTO repair_request VALUES
    (501, 1, 1, 'Boiler leaking', 'high', 'closed', '2025-01-08', '2025-01-20', 6, 2),
    (502, 2, 2, 'Kitchen socket dead', 'normal', 'closed', '2025-02-11', '2025-02-27', 6, 2),
    (503, 5, 3, 'Window frame rotten', 'low', 'open', '2025-03-30', NULL, 3, 3),
    (504, 7, 4, 'Boiler makes noise', 'normal', 'open', '2025-09-12', NULL, 6, 2),
    (505, 8, 9, 'Mice in the kitchen', 'high', 'closed', '2024-11-02', '2024-12-15', 4, 2),
    (506, 10, 7, 'Drain blocked', 'high', 'closed', '2025-05-19', '2025-05-21', 6, 3),
    (507, 13, 5, 'Front door sticks', 'low', 'waiting for tenant', '2025-10-04', NULL, 3, 3),
    (508, 12, 8, 'Shower has no pressure', 'normal', 'open', '2025-10-21', NULL, 2, 2),
    (509, 6, 6, 'Shop shutter stuck', 'high', 'closed', '2024-12-20', '2025-01-03', 6, 3),
    (510, 1, 1, 'Radiator cold in bedroom', 'normal', 'open', '2025-11-03', NULL, 6, 4);

INSERT INTO work_order VALUES
    (901, 501, 4, 'completed', '2025-01-09', '2025-01-13', '2025-01-17', 420, 515, 5.5),
    (902, 502, 1, 'completed', '2025-02-12', '2025-02-20', '2025-02-24', 180, 168, 2.0),
    (903, 503, 3, 'quoted', '2025-04-04', NULL, NULL, 1250, NULL, NULL),
    (904, 504, 4, 'scheduled', '2025-09-15', '2025-11-28', NULL, 260, NULL, NULL),
    (905, 505, 5, 'completed', '2024-11-04', '2024-11-11', '2024-12-10', 240, 395, 6.0),
    (906, 506, 6, 'completed', '2025-05-19', '2025-05-20', '2025-05-20', 310, 310, 3.0),
    (907, 507, 3, 'cancelled', '2025-10-06', '2025-10-14', NULL, 90, 40, NULL),
    (908, 508, 2, 'completed', '2025-10-22', '2025-10-29', '2025-11-01', 150, 505, 8.5),
    (909, 509, 3, 'completed', '2024-12-21', '2024-12-23', '2025-01-03', 640, 480, 7.0),
    (910, 510, 4, 'scheduled', '2025-11-04', '2025-11-30', NULL, 545, NULL, NULL);

INSERT INTO rent_invoice VALUES
    ('R-2501', 101, '2025-03-25', '2025-04-01', 845, '2025-04-01', 0),
    ('R-2502', 102, '2025-03-25', '2025-04-01', 900, '2025-04-19', 1),
    ('R-2503', 103, '2025-03-25', '2025-04-01', 1370, '2025-03-30', 0),
    ('R-2504', 104, '2025-04-02', '2025-04-10', 2050, NULL, 2),
    ('R-2505', 105, '2025-04-25', '2025-05-01', 1090, '2025-05-02', 0),
    ('R-2506', 107, '2025-04-25', '2025-05-01', 1195, '2025-06-11', 2),
    ('R-2507', 108, '2025-05-25', '2025-06-01', 1030, '2025-06-01', 0),
    ('R-2508', 109, '2025-05-25', '2025-06-01', 715, NULL, 1),
    ('R-2509', 110, '2025-05-28', '2025-06-01', 880, '2025-06-03', 0),
    ('R-2510', 101, '2025-05-30', '2025-06-01', 845, '2025-06-02', 0);

INSERT INTO rent_invoice_line VALUES
    ('R-2501', 1, 'base rent', 690), ('R-2501', 2, 'service charge', 155),
    ('R-2502', 1, 'base rent', 720), ('R-2502', 2, 'service charge', 150),
    ('R-2503', 1, 'base rent', 1190), ('R-2503', 2, 'service charge', 230),
    ('R-2504', 1, 'base rent', 1800), ('R-2504', 2, 'service charge', 250),
    ('R-2505', 1, 'base rent', 930), ('R-2505', 2, 'service charge', 160),
    ('R-2506', 1, 'base rent', 980), ('R-2506', 2, 'service charge', 180),
    ('R-2507', 1, 'base rent', 900), ('R-2507', 2, 'service charge', 130),
    ('R-2508', 1, 'base rent', 580), ('R-2508', 2, 'service charge', 135),
    ('R-2509', 1, 'base rent', 790), ('R-2509', 2, 'service charge', 135),
    ('R-2510', 1, 'base rent', 690), ('R-2510', 2, 'service charge', 155);

INSERT INTO contractor_invoice VALUES
    ('NH-8831', 901, '2025-01-22', '2025-02-21', 429.17, 85.83, 515.00, '2025-02-20', 2),
    ('BS-114', 902, '2025-02-28', '2025-03-30', 140.00, 28.00, 168.00, '2025-03-12', 2),
    ('CSP-77', 905, '2024-12-14', '2025-01-13', 329.17, 65.83, 395.00, '2025-01-30', 1),
    ('AD-2090', 906, '2025-05-21', '2025-06-20', 258.33, 51.67, 310.00, NULL, 3),
    ('PEN-31', 907, '2025-10-16', '2025-11-15', 40.00, 0.00, 40.00, '2025-10-20', 3),
    ('FR-5512', 908, '2025-11-03', '2025-12-03', 420.83, 84.17, 505.00, NULL, NULL),
    ('PEN-22', 909, '2025-01-05', '2025-02-04', 480.00, 0.00, 480.00, '2025-01-31', 3);

INSERT INTO payment VALUES
    (1, 'R-2503', 1370, 'bank transfer', '2025-03-30', '2025-04-01'),
    (2, 'R-2501', 845, 'direct debit', '2025-04-01', '2025-04-02'),
    (3, 'R-2502', 900, 'bank transfer', '2025-04-19', '2025-04-22'),
    (4, 'R-2505', 1090, 'direct debit', '2025-04-30', '2025-05-02'),
    (5, 'R-2506', 600, 'cash', '2025-05-20', '2025-05-20'),
    (6, 'R-2506', 595, 'bank transfer', '2025-05-31', '2025-06-11'),
    (7, 'R-2507', 1030, 'direct debit', '2025-05-30', '2025-06-01'),
    (8, 'R-2509', 880, 'bank transfer', '2025-06-03', '2025-06-03'),
    (9, 'R-2510', 845, 'direct debit', '2025-06-02', '2025-06-03'),
    (10, 'R-2504', 500, 'cash', '2025-05-06', '2025-05-07');

INSERT INTO inspection VALUES
    (1, 1, 'annual', '2025-02-10', '2025-02-14', 7, 'passed'),
    (2, 2, 'annual', '2025-02-10', '2025-02-14', 7, 'passed'),
    (3, 2, 'check-out', '2025-09-05', '2025-09-08', 3, 'damage found'),
    (4, 4, 'safety', '2024-10-01', '2024-10-22', 7, 'passed'),
    (5, 5, 'annual', '2025-03-03', '2025-04-01', 7, 'damage found'),
    (6, 7, 'safety', '2025-06-30', '2025-06-30', 7, 'passed'),
    (7, 8, 'check-out', '2025-07-15', '2025-07-16', 2, 'passed'),
    (8, 10, 'annual', '2025-05-28', '2025-06-04', 4, 'passed'),
    (9, 13, 'safety', '2025-12-05', NULL, 7, NULL),
    (10, 14, 'check-out', '2025-03-31', '2025-03-31', 2, 'damage found'),
    (11, 10, 'safety', '2025-11-26', NULL, 7, NULL);
