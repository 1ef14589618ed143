-- The IT service desk of a company with several sites: tickets, changes, assets, licences and contracts.

CREATE TABLE org_site (
    site_id     INTEGER PRIMARY KEY,
    site_name   TEXT NOT NULL,
    site_city   TEXT,
    site_floors INTEGER
);
INSERT INTO org_site VALUES
    (1, 'Headquarters', 'Bremen', 6),
    (2, 'Harbour Warehouse', 'Bremen', 2),
    (3, 'Plant South', 'Ulm', 3),
    (4, 'Sales Office', 'Leipzig', 1),
    (5, 'Data Centre', 'Oldenburg', NULL);

CREATE TABLE org_dept (
    dep_id      INTEGER PRIMARY KEY,
    dep_name    TEXT NOT NULL,
    dep_cc      TEXT,                   -- cost centre
    dep_mgr_id  INTEGER
);
INSERT INTO org_dept VALUES
    (10, 'Finance', '4100', 102),
    (20, 'Sales', '4200', 105),
    (30, 'Production', '4300', 108),
    (40, 'Logistics', '4350', 110),
    (50, 'Personnel', '4400', NULL);

CREATE TABLE org_person (
    per_id      INTEGER PRIMARY KEY,
    per_name    TEXT NOT NULL,
    per_dep_id  INTEGER REFERENCES org_dept (dep_id),
    per_site_id INTEGER REFERENCES org_site (site_id),
    per_mail    TEXT,
    per_vip     INTEGER NOT NULL DEFAULT 0,
    per_from    DATE,
    per_left_on DATE
);
INSERT INTO org_person VALUES
    (101, 'Dora Klein', 10, 1, 'd.klein@corp.example', 0, '2015-04-01', NULL),
    (102, 'Arne Voss', 10, 1, 'a.voss@corp.example', 1, '2008-01-01', NULL),
    (103, 'Li Chen', 10, 1, 'l.chen@corp.example', 0, '2022-09-01', NULL),
    (104, 'Maja Petrov', 20, 4, 'm.petrov@corp.example', 0, '2019-02-15', NULL),
    (105, 'Sven Kroll', 20, 4, 's.kroll@corp.example', 1, '2012-07-01', NULL),
    (106, 'Tim Ostertag', 20, 1, 't.ostertag@corp.example', 0, '2021-10-01', '2026-06-30'),
    (107, 'Hakan Yildiz', 30, 3, 'h.yildiz@corp.example', 0, '2017-05-01', NULL),
    (108, 'Birgit Maurer', 30, 3, 'b.maurer@corp.example', 1, '2004-11-01', NULL),
    (109, 'Ole Franzen', 40, 2, 'o.franzen@corp.example', 0, '2018-03-01', NULL),
    (110, 'Rita Sommer', 40, 2, NULL, 0, '2013-08-01', NULL),
    (111, 'Jule Hinz', 50, 1, 'j.hinz@corp.example', 0, '2024-01-15', NULL),
    (112, 'Emil Graf', 30, 3, 'e.graf@corp.example', 0, '2010-02-01', '2025-12-31');

CREATE TABLE sup_group (
    grp_id      INTEGER PRIMARY KEY,
    grp_name    TEXT NOT NULL,
    grp_mail    TEXT,
    grp_lead_id INTEGER
);
INSERT INTO sup_group VALUES
    (1, 'First Line', 'desk@corp.example', 1),
    (2, 'Workplace', 'workplace@corp.example', 4),
    (3, 'Network', 'network@corp.example', 6),
    (4, 'Business Applications', NULL, 8),
    (5, 'Security', 'security@corp.example', NULL);

CREATE TABLE sup_agent (
    agt_id      INTEGER PRIMARY KEY,
    agt_name    TEXT NOT NULL,
    agt_grp_id  INTEGER REFERENCES sup_group (grp_id),
    agt_site_id INTEGER REFERENCES org_site (site_id),
    agt_level   INTEGER,
    agt_extern  INTEGER NOT NULL DEFAULT 0
);
INSERT INTO sup_agent VALUES
    (1, 'Nele Braun', 1, 1, 1, 0),
    (2, 'Omar Aziz', 1, 1, 1, 0),
    (3, 'Klara Jung', 1, 3, 1, 1),
    (4, 'Tom Adler', 2, 1, 2, 0),
    (5, 'Pia Rehm', 2, 3, 2, 0),
    (6, 'Lukas Stein', 3, 5, 3, 0),
    (7, 'Vera Lutz', 3, 1, 2, 1),
    (8, 'Anton Weiss', 4, 1, 3, 0),
    (9, 'Sara Wolff', 5, 5, 3, 0);

CREATE TABLE vnd_vendor (
    vnd_id      INTEGER PRIMARY KEY,
    vnd_name    TEXT NOT NULL,
    vnd_city    TEXT,
    vnd_hotline TEXT,
    vnd_am_name TEXT,                   -- account manager
    vnd_am_tel  TEXT,
    vnd_rating  INTEGER
);
INSERT INTO vnd_vendor VALUES
    (1, 'Printwell', 'Hanover', '0800 555 010', 'Frau Behrens', '0511 555 0144', 2),
    (2, 'Nordnet', 'Hamburg', '0800 555 020', 'Herr Claasen', '040 555 0177', 4),
    (3, 'Calyx Software', 'Munich', '089 555 0300', 'Herr Ruf', '089 555 0312', 3),
    (4, 'Lease & Go', 'Cologne', '0221 555 0400', NULL, NULL, 5),
    (5, 'Bluepeak Devices', 'Berlin', '0800 555 050', 'Frau Iversen', '030 555 0561', 4);

CREATE TABLE ctr_contract (
    ctr_no      TEXT PRIMARY KEY,
    ctr_title   TEXT NOT NULL,
    ctr_vnd_id  INTEGER NOT NULL REFERENCES vnd_vendor (vnd_id),
    ctr_signed  DATE,
    ctr_start   DATE,
    ctr_end     DATE,
    ctr_notice  DATE,                   -- last day for giving notice
    ctr_fee_mon REAL
);
INSERT INTO ctr_contract VALUES
    ('C-101', 'Managed printers', 1, '2022-11-28', '2023-01-01', '2026-12-31', '2026-09-30', 1850),
    ('C-102', 'WAN lines', 2, '2024-02-12', '2024-04-01', '2029-03-31', '2028-09-30', 6400),
    ('C-103', 'Internet backup line', 2, '2024-12-09', '2025-01-01', '2027-12-31', '2027-06-30', 720),
    ('C-104', 'Calyx ERP maintenance', 3, '2023-12-18', '2024-01-01', '2026-12-31', '2026-06-30', 9100),
    ('C-105', 'Notebook leasing', 4, '2024-05-20', '2024-05-01', '2028-04-30', '2027-10-31', 3300),
    ('C-106', 'Calyx design suite', 3, '2025-03-03', '2025-03-15', NULL, NULL, 1240),
    ('C-107', 'Spare devices', 5, '2026-01-30', '2026-02-01', '2027-01-31', '2026-12-31', 210);

CREATE TABLE ast_asset (
    ast_tag      TEXT PRIMARY KEY,
    ast_type     TEXT NOT NULL,
    ast_model    TEXT,
    ast_dep_id   INTEGER REFERENCES org_dept (dep_id),      -- the department that is charged
    ast_user_id  INTEGER REFERENCES org_person (per_id),
    ast_bought   DATE,
    ast_price    REAL,
    ast_book_val REAL,
    ast_leased   INTEGER NOT NULL DEFAULT 0,
    ast_lease_to DATE,
    ast_warr_to  DATE,
    ast_vnd_id   INTEGER REFERENCES vnd_vendor (vnd_id)
);
INSERT INTO ast_asset VALUES
    ('NB-0231', 'notebook', 'Bluepeak 14', 10, 101, '2023-03-10', 1450, 360, 0, NULL, '2026-03-09', 5),
    ('NB-0232', 'notebook', 'Bluepeak 14', 10, 102, '2023-03-10', 1450, 360, 0, NULL, '2026-03-09', 5),
    ('NB-0240', 'notebook', 'Bluepeak 15 Pro', 20, 104, '2024-05-06', 1980, 990, 1, '2028-04-30', '2027-05-05', 4),
    ('NB-0241', 'notebook', 'Bluepeak 15 Pro', 20, 105, '2024-05-06', 1980, 990, 1, '2028-04-30', '2027-05-05', 4),
    ('NB-0242', 'notebook', 'Bluepeak 15 Pro', 10, 107, '2024-05-06', 1980, 990, 1, '2027-04-30', '2026-11-05', 4),
    ('NB-0255', 'notebook', 'Bluepeak 13', 50, 111, '2024-11-20', 1190, 720, 0, NULL, '2027-11-19', 5),
    ('NB-0260', 'notebook', 'Bluepeak 15 Pro', 30, 108, '2025-02-03', 2050, 1400, 1, '2027-01-31', '2028-02-02', 4),
    ('NB-0261', 'notebook', 'Bluepeak 13', 20, 103, '2025-02-03', 1210, 800, 0, NULL, '2027-02-02', 5),
    ('MO-1101', 'monitor', 'Viewline 27', 10, 101, '2021-09-01', 310, 0, 0, NULL, '2024-08-31', 5),
    ('MO-1102', 'monitor', 'Viewline 27', 30, 107, '2021-09-01', 310, 0, 0, NULL, '2024-08-31', 5),
    ('MO-1120', 'monitor', 'Viewline 32', 20, 105, '2024-06-11', 540, 300, 1, '2028-04-30', '2027-06-10', 4),
    ('PR-0012', 'printer', 'Inkstone M5', 40, NULL, '2023-01-15', 2200, 550, 1, '2026-12-31', '2026-01-14', 1),
    ('PR-0013', 'printer', 'Inkstone M5', 10, NULL, '2023-01-15', 2200, 550, 1, '2026-12-31', '2026-01-14', 1),
    ('SC-0031', 'handheld scanner', 'Beam 4', 40, 109, '2022-04-04', 680, 0, 0, NULL, '2025-04-03', 5),
    ('SC-0032', 'handheld scanner', 'Beam 4', 40, 110, '2025-10-13', 720, 560, 0, NULL, '2027-10-12', 5);

-- Assets that were scrapped, sold or lost.
CREATE TABLE ast_retired (
    ast_tag      TEXT PRIMARY KEY,
    ast_type     TEXT NOT NULL,
    ast_model    TEXT,
    ast_dep_id   INTEGER,
    ast_bought   DATE,
    ast_price    REAL,
    ret_on       DATE,
    ret_reason   TEXT
);
INSERT INTO ast_retired VALUES
    ('NB-0118', 'notebook', 'Bluepeak 14', 10, '2017-02-20', 1120, '2022-03-31', 'sold'),
    ('NB-0125', 'notebook', 'Bluepeak 14', 20, '2018-06-14', 1180, '2023-03-15', 'scrapped'),
    ('NB-0190', 'notebook', 'Bluepeak 15', 30, '2021-01-18', 1610, '2024-08-02', 'lost'),
    ('PR-0004', 'printer', 'Inkstone M3', 10, '2016-05-09', 1750, '2023-01-20', 'scrapped'),
    ('PR-0009', 'printer', 'Inkstone M3', 40, '2018-10-01', 1690, '2023-01-20', 'sold'),
    ('MO-1014', 'monitor', 'Viewline 24', 20, '2015-03-03', 220, '2024-11-30', 'scrapped');

CREATE TABLE tkt_ticket (
    tkt_id       INTEGER PRIMARY KEY,
    tkt_subject  TEXT NOT NULL,
    tkt_cat      TEXT,
    tkt_req_id   INTEGER NOT NULL REFERENCES org_person (per_id),   -- who called
    tkt_aff_id   INTEGER REFERENCES org_person (per_id),            -- who has the problem
    tkt_grp_id   INTEGER REFERENCES sup_group (grp_id),
    tkt_agt_id   INTEGER REFERENCES sup_agent (agt_id),
    tkt_ast_tag  TEXT,
    tkt_prio_usr TEXT,
    tkt_prio_dsk TEXT,
    tkt_opened   DATE NOT NULL,
    tkt_resolved DATE,
    tkt_closed   DATE,
    tkt_state    TEXT NOT NULL,
    tkt_mins     INTEGER
);
INSERT INTO tkt_ticket VALUES
    (40201, 'Printer jams on every second page', 'hardware', 110, 110, 2, 4, 'PR-0012', 'high', 'normal', '2026-09-02', '2026-09-04', '2026-09-18', 'closed', 95),
    (40202, 'VPN drops every hour', 'network', 104, 104, 3, 6, NULL, 'high', 'high', '2026-09-10', '2026-09-29', '2026-10-13', 'closed', 340),
    (40203, 'New starter needs mailbox', 'account', 102, 103, 1, 1, NULL, 'normal', 'normal', '2026-09-15', '2026-09-15', '2026-09-29', 'closed', 20),
    (40204, 'ERP posting run hangs', 'application', 101, 101, 4, 8, NULL, 'high', 'high', '2026-10-01', '2026-10-02', '2026-10-16', 'closed', 180),
    (40205, 'Monitor flickers', 'hardware', 101, 101, 2, 4, 'MO-1101', 'low', 'low', '2026-10-05', '2026-10-21', '2026-11-04', 'closed', 45),
    (40206, 'Notebook battery swollen', 'hardware', 108, 107, 2, 5, 'NB-0242', 'normal', 'high', '2026-10-12', '2026-10-13', '2026-10-27', 'closed', 60),
    (40207, 'Wi-Fi dead in warehouse hall 2', 'network', 109, 109, 3, 7, NULL, 'high', 'high', '2026-10-19', '2026-10-30', '2026-11-13', 'closed', 420),
    (40208, 'Password reset', 'account', 101, 102, 1, 2, NULL, 'high', 'low', '2026-10-28', '2026-10-28', '2026-11-11', 'closed', 10),
    (40209, 'Phishing mail reported', 'security', 111, 111, 5, 9, NULL, 'normal', 'high', '2026-11-03', '2026-11-17', NULL, 'resolved', 130),
    (40210, 'CAD licence not found', 'application', 107, 107, 4, 8, NULL, 'high', 'normal', '2026-11-09', NULL, NULL, 'open', 70),
    (40211, 'VPN token lost', 'network', 105, 105, 3, 7, NULL, 'high', 'normal', '2026-11-16', NULL, NULL, 'open', 15),
    (40212, 'Scanner does not read labels', 'hardware', 110, 109, 2, 5, 'SC-0031', 'normal', 'normal', '2026-11-18', NULL, NULL, 'open', 30),
    (40213, 'Line to Ulm at its limit', 'network', 108, NULL, 3, 6, NULL, 'low', 'high', '2026-10-20', NULL, NULL, 'open', 250),
    (40214, 'Notebook fan is loud', 'hardware', 103, 101, 2, 4, 'NB-0231', 'low', 'low', '2026-11-23', NULL, NULL, 'open', NULL);

CREATE TABLE tkt_worklog (
    wl_id       INTEGER PRIMARY KEY,
    wl_tkt_id   INTEGER NOT NULL REFERENCES tkt_ticket (tkt_id),
    wl_agt_id   INTEGER NOT NULL REFERENCES sup_agent (agt_id),
    wl_date     DATE NOT NULL,
    wl_min_work INTEGER NOT NULL,
    wl_min_chg  INTEGER                 -- minutes charged to the department
);
INSERT INTO tkt_worklog VALUES
    (1, 40201, 1, '2026-09-02', 15, 0), (2, 40201, 4, '2026-09-04', 80, 60),
    (3, 40202, 2, '2026-09-10', 20, 0), (4, 40202, 6, '2026-09-18', 150, 120), (5, 40202, 6, '2026-09-29', 185, 180),
    (6, 40203, 1, '2026-09-15', 20, 15),
    (7, 40204, 8, '2026-10-01', 120, 120), (8, 40204, 8, '2026-10-02', 60, 60),
    (9, 40205, 4, '2026-10-21', 45, 30),
    (10, 40206, 5, '2026-10-13', 75, 60),
    (11, 40207, 7, '2026-10-19', 200, 180), (12, 40207, 7, '2026-10-28', 160, 120), (13, 40207, 6, '2026-10-30', 90, 90),
    (14, 40208, 2, '2026-10-28', 10, 0),
    (15, 40209, 9, '2026-11-04', 130, 0),
    (16, 40210, 8, '2026-11-11', 70, 60),
    (17, 40211, 7, '2026-11-17', 15, 15),
    (18, 40212, 5, '2026-11-19', 30, NULL),
    (19, 40213, 6, '2026-10-27', 140, 0), (20, 40213, 6, '2026-11-10', 85, 0);

CREATE TABLE chg_change (
    chg_id      INTEGER PRIMARY KEY,
    chg_title   TEXT NOT NULL,
    chg_grp_id  INTEGER REFERENCES sup_group (grp_id),
    chg_req_by  INTEGER,
    chg_appr_by INTEGER,
    chg_risk    TEXT,
    chg_planned DATE,
    chg_done    DATE,
    chg_state   TEXT NOT NULL
);
INSERT INTO chg_change VALUES
    (901, 'Replace core switch in Bremen', 3, 6, 8, 'high', '2026-09-26', '2026-10-03', 'done'),
    (902, 'ERP release 12.4', 4, 8, 9, 'high', '2026-10-10', '2026-10-10', 'done'),
    (903, 'New VPN gateway', 3, 7, 6, 'medium', '2026-12-05', NULL, 'open'),
    (904, 'Printer fleet to new driver', 2, 4, 5, 'low', '2026-11-07', '2026-11-06', 'done'),
    (905, 'Second line to Ulm', 3, 6, NULL, 'medium', '2027-01-16', NULL, 'pending'),
    (906, 'Mail filter rules', 5, 9, 6, 'low', '2026-11-28', NULL, 'open'),
    (907, 'Move phone system to cloud', 3, 7, NULL, 'high', '2027-02-20', NULL, 'pending');

CREATE TABLE lic_license (
    lic_id      INTEGER PRIMARY KEY,
    lic_product TEXT NOT NULL,
    lic_ctr_no  TEXT REFERENCES ctr_contract (ctr_no),
    lic_seats   INTEGER,
    lic_in_use  INTEGER,
    lic_metric  TEXT
);
INSERT INTO lic_license VALUES
    (1, 'Calyx ERP', 'C-104', 6, 5, 'named user'),
    (2, 'Calyx Draft CAD', 'C-106', 2, 2, 'named user'),
    (3, 'Vectra PDF', NULL, 10, 4, 'device'),
    (4, 'NetScope Monitor', 'C-102', 3, 1, 'concurrent'),
    (5, 'SafeMail Plus', NULL, 12, 12, 'named user');

CREATE TABLE lic_assign (
    las_lic_id  INTEGER NOT NULL REFERENCES lic_license (lic_id),
    las_per_id  INTEGER NOT NULL REFERENCES org_person (per_id),
    las_since   DATE,
    PRIMARY KEY (las_lic_id, las_per_id)
);
INSERT INTO lic_assign VALUES
    (1, 101, '2024-01-02'), (1, 102, '2024-01-02'), (1, 103, '2026-09-16'), (1, 106, '2024-03-01'), (1, 108, '2024-01-02'), (1, 110, '2025-05-12'), (1, 105, '2025-05-12'),
    (2, 107, '2025-03-20'), (2, 108, '2025-03-20'), (2, 112, '2025-03-20'),
    (3, 101, NULL), (3, 104, '2025-01-10'), (3, 111, '2024-02-01'),
    (5, 102, '2024-06-01'), (5, 105, '2024-06-01'), (5, 108, '2024-06-01');

CREATE TABLE kb_article (
    kb_id       INTEGER PRIMARY KEY,
    kb_title    TEXT NOT NULL,
    kb_author   INTEGER REFERENCES sup_agent (agt_id),
    kb_editor   INTEGER REFERENCES sup_agent (agt_id),
    kb_created  DATE,
    kb_updated  DATE,
    kb_views    INTEGER,
    kb_helpful  INTEGER
);
INSERT INTO kb_article VALUES
    (1, 'How to set up the VPN', 6, 7, '2022-03-01', '2026-08-14', 912, 410),
    (2, 'Clearing a paper jam', 4, 4, '2023-01-30', '2023-01-30', 388, 301),
    (3, 'Requesting a mailbox', 1, 2, '2021-11-11', '2025-02-02', 240, 77),
    (4, 'Spotting phishing mails', 9, 9, '2024-06-05', '2026-11-18', 655, 590),
    (5, 'ERP period-end checklist', 8, 8, '2025-12-01', NULL, 97, 60),
    (6, 'Connecting to hall Wi-Fi', 7, 6, '2026-11-02', '2026-11-04', 31, 12);
