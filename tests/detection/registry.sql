-- The registry of a university: students, staff, programmes, courses, exams, theses, fees and applications.

CREATE TABLE STAFF (
    STAFF_ID INTEGER PRIMARY KEY,
    LAST_NM TEXT NOT NULL,
    FIRST_NM TEXT,
    ACAD_TITLE TEXT,
    FAC_CD TEXT REFERENCES FACULTY (FAC_CD),
    OFFICE TEXT,
    EMAIL TEXT,
    HIRE_DT TEXT,
    FTE_CONTRACT REAL,
    FTE_WORKED REAL
);

CREATE TABLE FACULTY (
    FAC_CD TEXT PRIMARY KEY,
    FAC_NM TEXT NOT NULL,
    DEAN_ID INTEGER REFERENCES STAFF (STAFF_ID),
    BUS_MGR_ID INTEGER REFERENCES STAFF (STAFF_ID),
    FOUNDED INTEGER
);

CREATE TABLE PROGRAMME (
    PROG_CD TEXT PRIMARY KEY,
    TITLE TEXT NOT NULL,
    DEGREE TEXT,
    FAC_CD TEXT REFERENCES FACULTY (FAC_CD),
    CREDITS_REQD INTEGER,
    FEE_HOME REAL,
    FEE_INTL REAL
);

CREATE TABLE STUDENT (
    STUD_NO INTEGER PRIMARY KEY,
    LAST_NM TEXT NOT NULL,
    FIRST_NM TEXT,
    BIRTH_DT TEXT,
    TERM_CITY TEXT,
    HOME_CITY TEXT,
    UNI_EMAIL TEXT,
    PRIV_EMAIL TEXT,
    PROG_CD TEXT REFERENCES PROGRAMME (PROG_CD),
    ENTRY_DT TEXT,
    ADVISOR_ID INTEGER REFERENCES STAFF (STAFF_ID),
    GPA REAL, -- 1.0 is best
    CREDITS_EARNED INTEGER, -- with credits transferred from elsewhere
    STATUS TEXT
);

CREATE TABLE ALUMNUS (
    STUD_NO INTEGER PRIMARY KEY,
    LAST_NM TEXT,
    FIRST_NM TEXT,
    PROG_CD TEXT,
    ENTRY_DT TEXT,
    GRAD_DT TEXT,
    FINAL_GPA REAL,
    EMAIL TEXT
);

CREATE TABLE APPLICATION (
    APP_NO INTEGER PRIMARY KEY,
    LAST_NM TEXT,
    FIRST_NM TEXT,
    PROG1_CD TEXT REFERENCES PROGRAMME (PROG_CD),
    PROG2_CD TEXT REFERENCES PROGRAMME (PROG_CD),
    APPLIED_DT TEXT,
    DECIDED_DT TEXT,
    STATUS TEXT
);

CREATE TABLE COURSE (
    CRS_CD TEXT PRIMARY KEY,
    TITLE TEXT NOT NULL,
    CREDITS INTEGER,
    FAC_CD TEXT REFERENCES FACULTY (FAC_CD),
    CRS_LEVEL TEXT
);

CREATE TABLE PREREQ (
    CRS_CD TEXT REFERENCES COURSE (CRS_CD),
    REQ_CRS_CD TEXT REFERENCES COURSE (CRS_CD),
    PRIMARY KEY (CRS_CD, REQ_CRS_CD)
);

CREATE TABLE ROOM (
    ROOM_CD TEXT PRIMARY KEY,
    BUILDING TEXT,
    SEATS_LECT INTEGER,
    SEATS_EXAM INTEGER,
    PROJECTOR INTEGER
);

CREATE TABLE OFFERING (
    OFF_ID INTEGER PRIMARY KEY,
    CRS_CD TEXT REFERENCES COURSE (CRS_CD),
    TERM TEXT, -- 2024W, 2025S
    KIND TEXT, -- lecture, seminar
    LANG TEXT,
    LECTURER_ID INTEGER REFERENCES STAFF (STAFF_ID),
    ROOM_CD TEXT,
    MAX_PLACES INTEGER,
    ENROLLED_CNT INTEGER -- written when registration closes
);

CREATE TABLE ENROLMENT (
    OFF_ID INTEGER REFERENCES OFFERING (OFF_ID),
    STUD_NO INTEGER REFERENCES STUDENT (STUD_NO),
    REG_DT TEXT,
    MIDTERM_GRADE REAL,
    FINAL_GRADE REAL, -- 5.0 is failed
    PRIMARY KEY (OFF_ID, STUD_NO)
);

CREATE TABLE EXAM (
    EXAM_ID INTEGER PRIMARY KEY,
    OFF_ID INTEGER REFERENCES OFFERING (OFF_ID),
    EXAM_DT TEXT,
    RESIT_DT TEXT,
    EXAMINER_ID INTEGER REFERENCES STAFF (STAFF_ID),
    ROOM_CD TEXT
);

CREATE TABLE THESIS (
    THESIS_ID INTEGER PRIMARY KEY,
    STUD_NO INTEGER REFERENCES STUDENT (STUD_NO),
    TITLE TEXT,
    SUPERVISOR_ID INTEGER REFERENCES STAFF (STAFF_ID),
    REVIEWER_ID INTEGER REFERENCES STAFF (STAFF_ID),
    REG_DT TEXT,
    DUE_DT TEXT,
    SUBMIT_DT TEXT,
    GRADE_SUP REAL,
    GRADE_REV REAL
);

CREATE TABLE TUITION (
    INV_NO TEXT PRIMARY KEY,
    STUD_NO INTEGER REFERENCES STUDENT (STUD_NO),
    TERM TEXT,
    AMT_ASSESSED REAL,
    AMT_WAIVED REAL,
    AMT_PAID REAL,
    DUE_DT TEXT
);

CREATE TABLE SCHOLARSHIP (
    SCH_ID INTEGER PRIMARY KEY,
    STUD_NO INTEGER REFERENCES STUDENT (STUD_NO),
    FUND TEXT,
    AMT_AWARDED REAL,
    AMT_DISBURSED REAL,
    FROM_DT TEXT,
    TO_DT TEXT
);

INSERT INTO FACULTY VALUES
    ('SCI', 'Faculty of Science', 11, 18, 1904),
    ('LAW', 'Faculty of Law', 14, 19, 1785),
    ('ART', 'Faculty of Arts', 15, 19, 1785),
    ('ENG', 'Faculty of Engineering', 16, 18, 1968),
    ('MED', 'Faculty of Medicine', 17, 20, 1821);

INSERT INTO STAFF VALUES
    (11, 'Adler', 'Ruth', 'Prof', 'SCI', 'N 3.01', 'ruth.adler@uni.example', '1998-10-01', 1.0, 1.0),
    (12, 'Bianchi', 'Marco', 'Dr', 'SCI', 'N 3.07', 'marco.bianchi@uni.example', '2016-03-01', 1.0, 0.75),
    (13, 'Czerny', 'Ola', 'Dr', 'SCI', NULL, 'ola.czerny@uni.example', '2022-09-01', 0.5, 0.5),
    (14, 'Dupont', 'Claire', 'Prof', 'LAW', 'W 1.12', 'claire.dupont@uni.example', '2004-04-01', 1.0, 1.0),
    (15, 'Eklund', 'Nils', 'Prof', 'ART', 'W 2.20', 'nils.eklund@uni.example', '2009-10-01', 1.0, 0.5),
    (16, 'Ferrer', 'Ines', 'Prof', 'ENG', 'S 0.04', 'ines.ferrer@uni.example', '2013-02-01', 1.0, 1.0),
    (17, 'Gupta', 'Anil', 'Prof', 'MED', 'K 5.11', 'anil.gupta@uni.example', '2001-07-01', 0.8, 0.8),
    (18, 'Hauser', 'Birgit', NULL, 'SCI', 'N 0.02', 'birgit.hauser@uni.example', '2011-05-15', 1.0, 1.0),
    (19, 'Ilic', 'Zoran', NULL, 'LAW', 'W 0.01', 'zoran.ilic@uni.example', '2019-01-07', 0.75, 1.0),
    (20, 'Juhasz', 'Kata', NULL, 'MED', NULL, 'kata.juhasz@uni.example', '2023-11-01', 0.5, 0.5);

INSERT INTO PROGRAMME VALUES
    ('BINF', 'Informatics', 'BSc', 'SCI', 180, 720, 1450),
    ('MDAT', 'Data Science', 'MSc', 'SCI', 120, 980, 2900),
    ('MENE', 'Energy Systems', 'MSc', 'ENG', 120, 900, 2600),
    ('LLB', 'Law', 'LLB', 'LAW', 240, 720, 1450),
    ('BHIS', 'History', 'BA', 'ART', 180, 720, 1450),
    ('MMED', 'Biomedicine', 'MSc', 'MED', 120, 1200, 3900);

INSERT INTO STUDENT VALUES
    (4001, 'Fuchs', 'Lena', '2003-04-12', 'Graz', 'Villach', 'l.fuchs@stud.example', 'lena.f@mail.example', 'BINF', '2022-10-01', 12, 1.8, 132, 'active'),
    (4002, 'Weidl', 'Jonas', '2001-09-30', 'Graz', 'Graz', 'j.weidl@stud.example', NULL, 'BINF', '2020-10-01', 12, 2.7, 164, 'active'),
    (4003, 'Okoye', 'Chidi', '1999-01-25', 'Graz', 'Enugu', 'c.okoye@stud.example', 'chidi.okoye@mail.example', 'MDAT', '2023-10-01', 11, 1.3, 96, 'active'),
    (4004, 'Laszlo', 'Petra', '2002-06-03', 'Leoben', 'Pécs', 'p.laszlo@stud.example', 'petral@mail.example', 'MENE', '2024-10-01', 16, 2.1, 41, 'active'),
    (4005, 'Brunner', 'Simon', '2000-12-19', NULL, 'Graz', 's.brunner@stud.example', 'simonb@mail.example', 'LLB', '2020-10-01', 14, 3.0, 151, 'on leave'),
    (4006, 'Maric', 'Ana', '2004-02-08', 'Graz', 'Maribor', 'a.maric@stud.example', 'ana.maric@mail.example', 'BHIS', '2023-10-01', 15, 1.9, 75, 'active'),
    (4007, 'Stone', 'Harvey', '1997-07-17', 'Wien', 'Graz', 'h.stone@stud.example', 'hstone@mail.example', 'MMED', '2023-03-01', 17, 1.6, 104, 'active'),
    (4008, 'Yilmaz', 'Derya', '2003-11-11', 'Graz', 'Linz', 'd.yilmaz@stud.example', NULL, 'BINF', '2022-10-01', 13, 3.4, 58, 'excluded'),
    (4009, 'Santos', 'Rui', '2000-03-23', 'Graz', 'Porto', 'r.santos@stud.example', 'rui.s@mail.example', 'MDAT', '2024-10-01', 11, 1.5, 52, 'active'),
    (4010, 'Kern', 'Vera', '1998-08-05', 'Leoben', 'Bruck', 'v.kern@stud.example', 'vera.kern@mail.example', 'MENE', '2022-10-01', 16, 2.0, 112, 'active');

INSERT INTO ALUMNUS VALUES
    (3107, 'Pichler', 'Eva', 'BINF', '2017-10-01', '2020-11-20', 1.7, 'eva.pichler@mail.example'),
    (3211, 'Stone', 'Harvey', 'BINF', '2017-10-01', '2022-03-31', 2.2, 'hstone@mail.example'),
    (3340, 'Nowak', 'Piotr', 'MDAT', '2020-10-01', '2022-11-18', 1.4, NULL),
    (3395, 'Reiter', 'Hanna', 'LLB', '2016-10-01', '2021-06-25', 2.5, 'h.reiter@mail.example'),
    (3402, 'Abebe', 'Sara', 'MENE', '2020-10-01', '2023-03-24', 1.9, 'sara.abebe@mail.example'),
    (3477, 'Moser', 'Till', 'BHIS', '2019-10-01', '2022-11-18', 2.1, 'till@mail.example');

INSERT INTO APPLICATION VALUES
    (9001, 'Weidl', 'Jonas', 'MDAT', 'MENE', '2025-03-14', NULL, 'incomplete'),
    (9002, 'Haas', 'Greta', 'MDAT', NULL, '2025-02-20', '2025-05-02', 'admitted'),
    (9003, 'Ito', 'Kenji', 'MENE', 'MDAT', '2025-01-31', '2025-04-15', 'admitted'),
    (9004, 'Vidal', 'Nuria', 'MMED', 'MDAT', '2025-03-30', '2025-05-20', 'waitlisted'),
    (9005, 'Orsini', 'Paolo', 'LLB', 'BHIS', '2025-04-02', '2025-05-20', 'rejected'),
    (9006, 'Lang', 'Fritz', 'BINF', NULL, '2025-05-11', NULL, 'under review'),
    (9007, 'Sorensen', 'Liv', 'MDAT', 'MMED', '2024-12-09', '2025-02-03', 'waitlisted'),
    (9008, 'Baro', 'Aminata', 'BHIS', 'LLB', '2025-02-27', '2025-04-15', 'admitted');

INSERT INTO COURSE VALUES
    ('INF110', 'Programming', 8, 'SCI', 'bachelor'),
    ('INF220', 'Databases', 6, 'SCI', 'bachelor'),
    ('MAT150', 'Statistics', 7, 'SCI', 'bachelor'),
    ('DAT510', 'Machine Learning', 6, 'SCI', 'master'),
    ('DAT530', 'Energy Data Analysis', 5, 'SCI', 'master'),
    ('ENE500', 'Renewable Energy', 6, 'ENG', 'master'),
    ('LAW101', 'Civil Law', 10, 'LAW', 'bachelor'),
    ('LAW340', 'Data Protection Law', 4, 'LAW', 'bachelor'),
    ('HIS200', 'Europe after 1945', 5, 'ART', 'bachelor'),
    ('BIO520', 'Clinical Trials', 6, 'MED', 'master');

INSERT INTO PREREQ VALUES
    ('INF220', 'INF110'), ('DAT510', 'MAT150'), ('DAT510', 'INF220'), ('DAT530', 'MAT150'), ('LAW340', 'LAW101'), ('BIO520', 'MAT150');

INSERT INTO ROOM VALUES
    ('N101', 'N', 120, 48, 1),
    ('N205', 'N', 40, 18, 0),
    ('N206', 'N', 64, 30, 1),
    ('W010', 'W', 220, 90, 1),
    ('W114', 'W', 36, 20, 0),
    ('S001', 'S', 80, 64, 1),
    ('K300', 'K', 60, 28, NULL);

INSERT INTO OFFERING VALUES
    (801, 'INF110', '2024W', 'lecture', 'de', 12, 'N101', 100, 4),
    (802, 'INF220', '2025S', 'lecture', 'en', 12, 'N101', 80, 5),
    (803, 'MAT150', '2024W', 'lecture', 'de', 11, 'N206', 60, 6),
    (804, 'DAT510', '2025S', 'seminar', 'en', 11, 'N205', 20, 3),
    (805, 'DAT530', '2025S', 'seminar', 'de', 13, 'N205', 15, 2),
    (806, 'ENE500', '2024W', 'lecture', 'en', 16, 'S001', 50, 2),
    (807, 'LAW101', '2024W', 'lecture', 'de', 14, 'W010', 200, 1),
    (808, 'LAW340', '2025S', 'seminar', 'en', 14, 'W114', 25, 3),
    (809, 'HIS200', '2025S', 'lecture', 'de', 15, 'W010', 90, 1),
    (810, 'BIO520', '2025S', 'seminar', 'en', 17, 'K300', 20, 1);

INSERT INTO ENROLMENT VALUES
    (801, 4001, '2024-09-20', 2.0, 1.7), (801, 4008, '2024-09-28', 4.0, 5.0), (801, 4002, '2024-09-22', 3.0, 2.3),
    (802, 4001, '2025-02-18', 1.7, 2.0), (802, 4002, '2025-02-20', 3.3, 3.0), (802, 4008, '2025-02-27', 5.0, 5.0),
    (803, 4001, '2024-09-20', NULL, 2.3), (803, 4003, '2024-09-21', NULL, 1.0), (803, 4008, '2024-09-28', NULL, 5.0), (803, 4009, '2024-09-30', NULL, 1.3), (803, 4002, '2024-09-25', NULL, 5.0),
    (804, 4003, '2025-02-15', 1.0, 1.3), (804, 4009, '2025-02-15', 1.3, 1.7),
    (805, 4009, '2025-02-16', NULL, 1.7), (805, 4004, '2025-02-19', NULL, 2.3),
    (806, 4004, '2024-09-19', 2.0, 2.0), (806, 4010, '2024-09-19', 2.7, 2.0),
    (807, 4005, '2024-09-15', 3.0, 3.3),
    (808, 4005, '2025-02-11', NULL, NULL), (808, 4003, '2025-02-12', NULL, 2.0),
    (809, 4006, '2025-02-14', 2.0, 1.7),
    (810, 4007, '2025-02-10', 1.7, 1.3);

INSERT INTO EXAM VALUES
    (1, 801, '2025-01-28', '2025-03-04', 12, 'N101'),
    (2, 802, '2025-06-24', '2025-09-16', 12, 'N101'),
    (3, 803, '2025-01-30', '2025-03-06', 11, 'N206'),
    (4, 804, '2025-06-30', NULL, 11, 'N205'),
    (5, 806, '2025-02-03', '2025-03-10', 16, 'S001'),
    (6, 807, '2025-02-05', '2025-04-02', 19, 'W010'),
    (7, 809, '2025-06-27', '2025-10-01', 15, 'W114');

INSERT INTO THESIS VALUES
    (61, 4003, 'Forecasting energy demand with transformers', 11, 16, '2024-10-15', '2025-04-15', '2025-04-28', 1.0, 1.7),
    (62, 4007, 'Dropout in long clinical trials', 17, 11, '2024-11-04', '2025-05-04', '2025-04-30', 1.3, 1.3),
    (63, 4010, 'Heat pumps and energy use in old town houses', 16, 12, '2025-02-03', '2025-08-03', NULL, NULL, NULL),
    (64, 4002, 'Query logs of a library catalogue', 12, 13, '2025-03-03', '2025-07-03', '2025-07-03', 2.7, 3.3),
    (65, 4009, 'Energy poverty seen in meter data', 11, 12, '2025-10-06', '2026-04-06', NULL, NULL, NULL),
    (66, 4006, 'Borders and memory in Styria', 15, 14, '2024-12-01', '2025-06-01', '2025-06-10', 2.0, 1.7);

INSERT INTO TUITION VALUES
    ('T-25S-001', 4001, '2025S', 720, 0, 720, '2025-03-31'),
    ('T-25S-002', 4002, '2025S', 720, 0, 360, '2025-03-31'),
    ('T-25S-003', 4003, '2025S', 2900, 1900, 1000, '2025-03-31'),
    ('T-25S-004', 4004, '2025S', 900, 0, 900, '2025-03-31'),
    ('T-25S-005', 4006, '2025S', 720, 720, 0, '2025-03-31'),
    ('T-25S-006', 4007, '2025S', 3900, 0, 3900, '2025-04-15'),
    ('T-25S-007', 4009, '2025S', 980, 500, 0, '2025-04-15'),
    ('T-24W-014', 4008, '2024W', 720, 0, 0, '2024-10-31');

INSERT INTO SCHOLARSHIP VALUES
    (1, 4003, 'Merit fund', 4800, 3600, '2024-10-01', '2025-09-30'),
    (2, 4006, 'Regional grant', 1200, 1200, '2025-03-01', '2025-08-31'),
    (3, 4009, 'Merit fund', 4800, 800, '2025-07-01', '2026-06-30'),
    (4, 4004, 'Green energy award', 2500, 2500, '2025-01-15', '2025-12-31'),
    (5, 4001, 'Regional grant', 1200, 600, '2024-10-01', '2025-02-28');
