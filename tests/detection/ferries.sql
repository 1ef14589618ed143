-- The operations office of a small ferry line with freight, crews and dockings.

CREATE TABLE port (
    port_cd     TEXT PRIMARY KEY,
    port_nm     TEXT NOT NULL,
    ctry_cd     TEXT NOT NULL,
    berth_cnt   INTEGER,
    opened_on   DATE
);
INSERT INTO port VALUES
    ('TOR', 'Tornvik', 'NO', 4, '1961-05-01'),
    ('HLM', 'Holmsund', 'SE', 3, '1974-06-15'),
    ('MAR', 'Marsund', 'NO', 2, '1958-04-12'),
    ('LYN', 'Lyngby Havn', 'DK', 5, '1989-03-01'),
    ('SKA', 'Skarøy', 'NO', 1, NULL),
    ('GRN', 'Grenholm', 'SE', 2, '2003-09-20');

CREATE TABLE crew (
    crew_id     INTEGER PRIMARY KEY,
    last_nm     TEXT NOT NULL,
    first_nm    TEXT NOT NULL,
    rank_cd     TEXT NOT NULL,          -- MAS master, MAT mate, CHE chief engineer, ABS able seaman, STW steward
    base_port   TEXT REFERENCES port (port_cd),
    hired_on    DATE,
    contr_end   DATE,
    ph_mob      TEXT,
    ph_home     TEXT,
    hrs_contr   INTEGER,
    hrs_wrkd    INTEGER
);
INSERT INTO crew VALUES
    (301, 'Aune', 'Karin', 'MAS', 'TOR', '2009-03-01', NULL, '+47 900 11 201', '+47 73 51 20 11', 150, 162),
    (302, 'Bakke', 'Olav', 'MAS', 'MAR', '2014-08-15', NULL, '+47 900 11 202', NULL, 150, 148),
    (303, 'Lindqvist', 'Eva', 'MAS', 'HLM', '2018-01-10', '2027-01-09', '+46 70 555 12 03', '+46 90 14 22 30', 150, 155),
    (304, 'Dahl', 'Jonas', 'MAT', 'TOR', '2011-05-02', NULL, '+47 900 11 204', '+47 73 51 28 40', 160, 171),
    (305, 'Nygaard', 'Mette', 'MAT', 'LYN', '2019-04-01', '2026-12-31', '+45 20 44 12 05', '+45 47 11 30 05', 160, 139),
    (306, 'Sørli', 'Tor', 'CHE', 'TOR', '2006-10-01', NULL, '+47 900 11 206', '+47 73 51 41 17', 150, 158),
    (307, 'Ek', 'Anders', 'CHE', 'HLM', '2016-02-01', NULL, '+46 70 555 12 07', '+46 90 14 80 02', 150, 150),
    (308, 'Vik', 'Ingrid', 'ABS', 'MAR', '2020-06-01', '2026-09-30', '+47 900 11 208', NULL, 160, 166),
    (309, 'Holt', 'Per', 'ABS', 'TOR', '2013-06-01', NULL, NULL, '+47 73 51 60 09', 160, 160),
    (310, 'Berg', 'Silje', 'STW', 'TOR', '2021-05-15', '2026-10-15', '+47 900 11 210', NULL, 120, 131),
    (311, 'Madsen', 'Lars', 'STW', 'LYN', '2012-03-20', NULL, '+45 20 44 12 11', '+45 47 11 52 11', 120, 118),
    (312, 'Strand', 'Hanne', 'MAT', 'MAR', '2022-02-14', '2027-02-13', '+47 900 11 212', NULL, 160, 160);

CREATE TABLE vessel (
    vsl_id      INTEGER PRIMARY KEY,
    vsl_nm      TEXT NOT NULL,
    imo_no      TEXT UNIQUE,
    built_yr    INTEGER,
    gross_t     INTEGER,
    net_t       INTEGER,
    pax_cap     INTEGER,
    lane_m      INTEGER,
    home_port   TEXT REFERENCES port (port_cd),
    reg_port    TEXT REFERENCES port (port_cd),
    master_id   INTEGER REFERENCES crew (crew_id),
    relief_id   INTEGER REFERENCES crew (crew_id),
    status      TEXT                    -- ACT active, LAID laid up, DOCK in dock
);
INSERT INTO vessel VALUES
    (1, 'Nordlys', '9301121', 2004, 8420, 2710, 620, 540, 'TOR', 'TOR', 301, 302, 'ACT'),
    (2, 'Skarven', '9187734', 1998, 5105, 1640, 410, 380, 'MAR', 'TOR', 302, 303, 'DOCK'),
    (3, 'Havørn', '9745518', 2017, 11890, 3570, 540, 1120, 'HLM', 'LYN', 303, 301, 'ACT'),
    (4, 'Ternen', '8907412', 1990, 1240, 420, 180, 60, 'SKA', 'MAR', 301, NULL, 'ACT'),
    (5, 'Alken', '9012233', 1992, 1310, 415, 195, 48, 'TOR', 'MAR', NULL, 302, 'LAID'),
    (6, 'Lommen', '9812340', 2021, 3320, 1010, 350, 210, 'TOR', 'LYN', 302, 301, 'ACT');

CREATE TABLE route (
    rte_id      INTEGER PRIMARY KEY,
    rte_cd      TEXT NOT NULL,
    dep_port    TEXT NOT NULL REFERENCES port (port_cd),
    arr_port    TEXT NOT NULL REFERENCES port (port_cd),
    dist_nm     REAL,
    sched_min   INTEGER,
    status      TEXT                    -- ACT active, SEAS seasonal, SUSP suspended
);
INSERT INTO route VALUES
    (10, 'TOR-HLM', 'TOR', 'HLM', 62.5, 210, 'ACT'),
    (11, 'HLM-TOR', 'HLM', 'TOR', 62.5, 210, 'ACT'),
    (12, 'MAR-SKA', 'MAR', 'SKA', 8.2, 35, 'ACT'),
    (13, 'SKA-MAR', 'SKA', 'MAR', 8.2, 35, 'ACT'),
    (14, 'TOR-LYN', 'TOR', 'LYN', 118.0, 390, 'SEAS'),
    (15, 'LYN-TOR', 'LYN', 'TOR', 118.0, 390, 'SEAS'),
    (16, 'HLM-GRN', 'HLM', 'GRN', 27.4, 95, 'SUSP');

CREATE TABLE sailing (
    slg_id      INTEGER PRIMARY KEY,
    rte_id      INTEGER NOT NULL REFERENCES route (rte_id),
    vsl_id      INTEGER REFERENCES vessel (vsl_id),
    slg_dt      DATE NOT NULL,
    dep_sched   TEXT NOT NULL,
    dep_act     TEXT,
    arr_sched   TEXT NOT NULL,
    arr_act     TEXT,
    pax_bkd     INTEGER,
    pax_brd     INTEGER,
    status      TEXT NOT NULL           -- DONE, CX cancelled, OPEN still to come
);
INSERT INTO sailing VALUES
    (1001, 10, 1, '2026-06-02', '08:00', '08:04', '11:30', '11:31', 312, 298, 'DONE'),
    (1002, 11, 1, '2026-06-02', '13:00', '13:25', '16:30', '17:02', 287, 281, 'DONE'),
    (1003, 12, 4, '2026-06-03', '07:15', '07:15', '07:50', '07:49', 44, 61, 'DONE'),
    (1004, 13, 4, '2026-06-03', '16:40', '16:52', '17:15', '17:25', 58, 57, 'DONE'),
    (1005, 14, 3, '2026-06-13', '22:00', '22:10', '04:30', '04:22', 401, 388, 'DONE'),
    (1006, 15, 3, '2026-06-14', '10:00', NULL, '16:30', NULL, 366, NULL, 'CX'),
    (1007, 10, 1, '2026-07-04', '08:00', '08:51', '11:30', '12:18', 540, 522, 'DONE'),
    (1008, 11, 1, '2026-07-04', '13:00', '14:05', '16:30', '17:40', 498, 490, 'DONE'),
    (1009, 10, 3, '2026-07-04', '18:30', '18:30', '22:00', '21:55', 377, 351, 'DONE'),
    (1010, 12, 4, '2026-07-05', '07:15', '07:18', '07:50', '07:55', 102, 119, 'DONE'),
    (1011, 13, 4, '2026-07-05', '16:40', NULL, '17:15', NULL, 87, NULL, 'CX'),
    (1012, 14, 6, '2026-07-18', '22:00', '22:02', '04:30', '04:41', 305, 300, 'DONE'),
    (1013, 15, 6, '2026-07-19', '10:00', '10:35', '16:30', '17:01', 322, 318, 'DONE'),
    (1014, 10, 1, '2026-07-20', '08:00', NULL, '11:30', NULL, 290, NULL, 'CX'),
    (1015, 10, 1, '2026-12-01', '08:00', NULL, '11:30', NULL, 41, NULL, 'OPEN'),
    (1016, 11, 1, '2026-12-01', '13:00', NULL, '16:30', NULL, 38, NULL, 'OPEN');

-- Sailings before 2026, moved here at the end of the season.
CREATE TABLE sailing_hist (
    slg_id      INTEGER PRIMARY KEY,
    rte_id      INTEGER NOT NULL,
    vsl_id      INTEGER,
    slg_dt      DATE NOT NULL,
    dep_sched   TEXT NOT NULL,
    dep_act     TEXT,
    pax_bkd     INTEGER,
    pax_brd     INTEGER,
    status      TEXT NOT NULL,
    arch_on     DATE
);
INSERT INTO sailing_hist VALUES
    (701, 10, 2, '2024-06-08', '08:00', '08:02', 220, 214, 'DONE', '2025-01-05'),
    (702, 11, 2, '2024-06-08', '13:00', NULL, 198, NULL, 'CX', '2025-01-05'),
    (703, 12, 4, '2024-07-01', '07:15', '07:20', 51, 49, 'DONE', '2025-01-05'),
    (704, 14, 1, '2024-07-20', '22:00', '22:31', 502, 499, 'DONE', '2025-01-05'),
    (705, 16, 5, '2024-08-03', '09:00', NULL, 33, NULL, 'CX', '2025-01-05'),
    (811, 10, 1, '2025-06-07', '08:00', '08:00', 288, 280, 'DONE', '2026-01-07'),
    (812, 11, 1, '2025-06-07', '13:00', '13:11', 301, 297, 'DONE', '2026-01-07'),
    (813, 13, 4, '2025-07-12', '16:40', NULL, 74, NULL, 'CX', '2026-01-07'),
    (814, 15, 3, '2025-08-02', '10:00', '10:05', 420, 413, 'DONE', '2026-01-07');

CREATE TABLE crew_duty (
    slg_id      INTEGER NOT NULL REFERENCES sailing (slg_id),
    crew_id     INTEGER NOT NULL REFERENCES crew (crew_id),
    role_cd     TEXT NOT NULL,
    PRIMARY KEY (slg_id, crew_id)
);
INSERT INTO crew_duty VALUES
    (1001, 301, 'MAS'), (1001, 304, 'MAT'), (1001, 306, 'CHE'), (1001, 310, 'STW'),
    (1002, 301, 'MAS'), (1002, 304, 'MAT'), (1002, 306, 'CHE'),
    (1003, 302, 'MAS'), (1003, 308, 'ABS'),
    (1004, 302, 'MAS'), (1004, 312, 'MAT'),
    (1005, 303, 'MAS'), (1005, 305, 'MAT'), (1005, 307, 'CHE'), (1005, 311, 'STW'),
    (1007, 301, 'MAS'), (1007, 304, 'MAT'), (1007, 309, 'ABS'),
    (1009, 303, 'MAS'), (1009, 307, 'CHE'),
    (1010, 302, 'MAS'), (1010, 308, 'ABS'),
    (1012, 303, 'MAS'), (1012, 305, 'MAT');

CREATE TABLE cust (
    cust_id     INTEGER PRIMARY KEY,
    nm          TEXT NOT NULL,
    is_comp     INTEGER NOT NULL,
    bill_street TEXT,
    bill_town   TEXT,
    dlv_street  TEXT,
    dlv_town    TEXT,
    email       TEXT,
    inv_email   TEXT,
    since       DATE
);
INSERT INTO cust VALUES
    (5001, 'Fjell Transport AS', 1, 'Havnegata 4', 'Tornvik', 'Industriveien 20', 'Marsund', 'post@fjelltransport.example', 'faktura@fjelltransport.example', '2011-02-01'),
    (5002, 'Nordisk Trä AB', 1, 'Storgatan 18', 'Umeå', 'Sågverksvägen 2', 'Holmsund', 'info@nordisktra.example', 'ekonomi@nordisktra.example', '2015-09-12'),
    (5003, 'Gunnar Moe', 0, 'Lia 7', 'Marsund', NULL, NULL, 'gunnar.moe@mail.example', NULL, '2019-06-30'),
    (5004, 'Lyngby Fisk ApS', 1, 'Kajen 1', 'Lyngby', 'Kajen 1', 'Lyngby', 'ordre@lyngbyfisk.example', 'bogholderi@lyngbyfisk.example', '2017-04-04'),
    (5005, 'Anna Persson', 0, 'Björkgatan 3', 'Umeå', 'Sommarstigen 9', 'Holmsund', 'anna.p@mail.example', NULL, '2022-05-18'),
    (5006, 'Skarøy Handel', 1, 'Postboks 12', 'Marsund', 'Brygga 2', 'Skarøy', 'butikk@skaroyhandel.example', 'regnskap@skaroyhandel.example', '2008-11-03'),
    (5007, 'Oddvar Lie', 0, 'Bakken 15', 'Tornvik', 'Bakken 15', 'Tornvik', NULL, NULL, '2023-07-02'),
    (5008, 'Kyst Anlegg AS', 1, 'Storgata 90', 'Tornvik', 'Kaiområdet', 'Skarøy', 'drift@kystanlegg.example', NULL, '2020-01-20');

CREATE TABLE bkg (
    bkg_id      INTEGER PRIMARY KEY,
    cust_id     INTEGER NOT NULL REFERENCES cust (cust_id),
    slg_id      INTEGER NOT NULL REFERENCES sailing (slg_id),
    bkd_on      DATE NOT NULL,
    chan        TEXT,                   -- WEB, TEL, AGT
    tot_amt     REAL,                   -- as invoiced, after rebates and fees
    amt_paid    REAL,
    status      TEXT NOT NULL           -- CONF confirmed, CX cancelled, HOLD on hold
);
INSERT INTO bkg VALUES
    (2041, 5001, 1001, '2026-05-20', 'TEL', 4150, 4150, 'CONF'),
    (2042, 5003, 1001, '2026-05-28', 'WEB', 780, 780, 'CONF'),
    (2043, 5002, 1002, '2026-06-01', 'AGT', 5600, 0, 'CONF'),
    (2044, 5006, 1003, '2026-06-02', 'TEL', 310, 310, 'CONF'),
    (2045, 5005, 1005, '2026-04-15', 'WEB', 1980, 1980, 'CONF'),
    (2046, 5007, 1006, '2026-06-10', 'WEB', 1120, 0, 'CX'),
    (2047, 5004, 1006, '2026-05-02', 'TEL', 7300, 7300, 'CX'),
    (2048, 5001, 1007, '2026-06-22', 'TEL', 3980, 2000, 'CONF'),
    (2049, 5003, 1008, '2026-06-30', 'WEB', 640, 640, 'CONF'),
    (2050, 5008, 1010, '2026-07-01', 'TEL', 905, 905, 'CONF'),
    (2051, 5005, 1009, '2026-07-03', 'WEB', 860, 0, 'CX'),
    (2052, 5002, 1012, '2026-06-19', 'AGT', 6120, 3000, 'HOLD'),
    (2053, 5007, 1013, '2026-07-10', 'WEB', 990, 990, 'CONF'),
    (2054, 5006, 1011, '2026-07-04', 'TEL', 280, 0, 'CX'),
    (2055, 5001, 1014, '2026-07-08', 'TEL', 4020, 0, 'CX'),
    (2056, 5001, 1015, '2026-11-12', 'WEB', 4150, 0, 'HOLD');

CREATE TABLE bkg_line (
    bkg_id      INTEGER NOT NULL REFERENCES bkg (bkg_id),
    line_no     INTEGER NOT NULL,
    item_cd     TEXT NOT NULL,          -- AD adult, CH child, CAR, TRK truck, CAB cabin
    qty         INTEGER NOT NULL,
    unit_pr     REAL NOT NULL,
    line_amt    REAL NOT NULL,
    PRIMARY KEY (bkg_id, line_no)
);
INSERT INTO bkg_line VALUES
    (2041, 1, 'TRK', 2, 2000, 4000), (2041, 2, 'AD', 2, 200, 400),
    (2042, 1, 'CAR', 1, 380, 380), (2042, 2, 'AD', 2, 200, 400),
    (2043, 1, 'TRK', 3, 2000, 6000), (2043, 2, 'AD', 3, 0, 0),
    (2044, 1, 'CAR', 1, 190, 190), (2044, 2, 'AD', 2, 60, 120),
    (2045, 1, 'AD', 2, 450, 900), (2045, 2, 'CH', 3, 150, 450), (2045, 3, 'CAB', 1, 700, 700),
    (2046, 1, 'AD', 2, 450, 900), (2046, 2, 'CH', 1, 150, 150),
    (2047, 1, 'TRK', 2, 3800, 7600),
    (2048, 1, 'TRK', 2, 2000, 4000), (2048, 2, 'AD', 1, 200, 200),
    (2049, 1, 'AD', 2, 200, 400), (2049, 2, 'CH', 2, 100, 200),
    (2050, 1, 'TRK', 1, 750, 750), (2050, 2, 'AD', 2, 60, 120),
    (2052, 1, 'TRK', 1, 3800, 3800), (2052, 2, 'CAB', 3, 700, 2100),
    (2053, 1, 'AD', 2, 450, 900),
    (2056, 1, 'TRK', 2, 2000, 4000), (2056, 2, 'AD', 1, 200, 200);

CREATE TABLE consgmt (
    con_no      TEXT PRIMARY KEY,
    slg_id      INTEGER NOT NULL REFERENCES sailing (slg_id),
    shipper_id  INTEGER NOT NULL REFERENCES cust (cust_id),
    consig_id   INTEGER NOT NULL REFERENCES cust (cust_id),
    goods       TEXT,
    wt_decl     INTEGER,                -- kg as declared
    wt_scale    INTEGER,                -- kg on the port's scale
    haz_cls     TEXT
);
INSERT INTO consgmt VALUES
    ('C-881', 1001, 5001, 5002, 'machine parts', 8200, 8350, NULL),
    ('C-882', 1002, 5002, 5001, 'planed timber', 21000, 22140, NULL),
    ('C-883', 1003, 5001, 5006, 'groceries', 1800, 1790, NULL),
    ('C-884', 1005, 5008, 5004, 'paint', 3200, 3200, '3'),
    ('C-885', 1007, 5001, 5002, 'steel profiles', 17500, 19020, NULL),
    ('C-886', 1009, 5006, 5002, 'empty pallets', 900, NULL, NULL),
    ('C-887', 1010, 5008, 5006, 'diesel', 6000, 6120, '3'),
    ('C-888', 1012, 5001, 5004, 'batteries', 4100, 4050, '9'),
    ('C-889', 1013, 5004, 5001, 'frozen fish', 15300, 15300, NULL);

CREATE TABLE incid (
    inc_id      INTEGER PRIMARY KEY,
    slg_id      INTEGER REFERENCES sailing (slg_id),
    occ_dt      DATE,
    rep_dt      DATE,
    rep_by      INTEGER,
    hdl_by      INTEGER,
    sev         INTEGER,                -- 1 minor to 5 grave
    descr       TEXT
);
INSERT INTO incid VALUES
    (91, 1002, '2026-06-02', '2026-06-03', 304, 301, 2, 'bow door sensor failed'),
    (92, 1004, '2026-05-31', '2026-06-03', 312, 302, 1, 'mooring line worn'),
    (93, 1007, '2026-07-04', '2026-07-04', 301, 306, 3, 'port engine overheated'),
    (94, 1008, '2026-07-04', '2026-07-06', 301, 306, 2, 'late bunkering'),
    (95, 1009, '2026-06-30', '2026-07-04', 307, 303, 1, 'galley vent blocked'),
    (96, 1011, '2026-07-05', '2026-07-05', 308, 301, 4, 'grounding in the approach'),
    (97, 1013, '2026-07-19', '2026-07-19', 305, NULL, 2, 'truck lashing broke'),
    (98, NULL, '2026-07-29', '2026-08-02', 306, 302, 1, 'fuel spill at berth 2');

CREATE TABLE dock_job (
    job_id      INTEGER PRIMARY KEY,
    vsl_id      INTEGER NOT NULL REFERENCES vessel (vsl_id),
    yard        TEXT,
    start_pl    DATE,
    start_act   DATE,
    end_pl      DATE,
    end_act     DATE,
    cost_est    INTEGER,
    cost_act    INTEGER
);
INSERT INTO dock_job VALUES
    (61, 2, 'Tornvik Slip', '2025-02-03', '2025-02-05', '2025-02-28', '2025-03-07', 420000, 468000),
    (62, 1, 'Lyngby Værft', '2025-01-13', '2025-01-13', '2025-02-02', '2025-01-30', 910000, 884500),
    (63, 4, 'Tornvik Slip', '2025-10-06', '2025-10-20', '2025-10-24', '2025-11-09', 130000, 151200),
    (64, 3, 'Lyngby Værft', '2026-01-12', '2026-01-14', '2026-02-06', '2026-02-06', 1250000, 1250000),
    (65, 6, 'Umeå Varv', '2026-02-16', '2026-02-16', '2026-03-01', '2026-03-04', 300000, 322800),
    (66, 2, 'Tornvik Slip', '2026-05-04', '2026-06-01', '2026-10-30', NULL, 2400000, NULL);

CREATE TABLE tariff (
    trf_id      INTEGER PRIMARY KEY,
    rte_id      INTEGER NOT NULL REFERENCES route (rte_id),
    item_cd     TEXT NOT NULL,
    price_lo    REAL,                   -- low season
    price_hi    REAL,                   -- high season
    valid_to    DATE
);
INSERT INTO tariff VALUES
    (401, 10, 'AD', 160, 200, '2026-12-31'),
    (402, 10, 'CAR', 300, 380, '2026-12-31'),
    (403, 10, 'TRK', 1850, 2000, '2026-12-31'),
    (404, 11, 'AD', 160, 200, '2026-12-31'),
    (405, 11, 'CAR', 300, 380, '2026-12-31'),
    (406, 12, 'AD', 45, 60, '2026-12-31'),
    (407, 12, 'CAR', 140, 190, '2026-12-31'),
    (408, 13, 'AD', 45, 60, '2026-12-31'),
    (409, 14, 'AD', NULL, 450, '2026-08-31'),
    (410, 14, 'CAB', NULL, 700, '2026-08-31'),
    (411, 14, 'TRK', NULL, 3800, '2026-08-31'),
    (412, 15, 'AD', NULL, 450, '2026-08-31');
