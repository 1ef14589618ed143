-- A development charity: donors, campaigns, pledges and gifts on one side, funders, grants and projects on the other.

CREATE TABLE Employee (
    EmployeeId    INTEGER PRIMARY KEY,
    Name          TEXT NOT NULL,
    Team          TEXT,
    Country       TEXT,
    StartDate     DATE,
    SupervisorId  INTEGER REFERENCES Employee (EmployeeId),
    Email         TEXT
);
INSERT INTO Employee VALUES
    (1, 'Ruth Eberle', 'Board', 'Austria', '2008-05-01', NULL, 'eberle@brightwell.example'),
    (2, 'Lucia Ferro', 'Programmes', 'Austria', '2013-02-01', 1, 'ferro@brightwell.example'),
    (3, 'Amina Diallo', 'Programmes', 'Senegal', '2017-09-01', 2, 'diallo@brightwell.example'),
    (4, 'Joseph Otieno', 'Programmes', 'Kenya', '2016-03-15', 2, 'otieno@brightwell.example'),
    (5, 'Grace Wanjiru', 'Programmes', 'Kenya', '2021-01-11', 4, 'wanjiru@brightwell.example'),
    (6, 'Markus Thaler', 'Fundraising', 'Austria', '2015-06-01', 1, 'thaler@brightwell.example'),
    (7, 'Ines Novak', 'Fundraising', 'Austria', '2019-10-01', 6, 'novak@brightwell.example'),
    (8, 'Felix Auer', 'Fundraising', 'Austria', '2023-04-01', 6, 'auer@brightwell.example'),
    (9, 'Bishal Rai', 'Programmes', 'Nepal', '2020-07-01', 2, NULL),
    (10, 'Petra Huber', 'Finance', 'Austria', '2011-01-01', 1, 'huber@brightwell.example');

CREATE TABLE Donor (
    DonorId         INTEGER PRIMARY KEY,
    Kind            TEXT NOT NULL,          -- P person, C company
    Name            TEXT NOT NULL,
    Town            TEXT,
    Country         TEXT,
    Email           TEXT,
    FirstContactOn  DATE,
    FirstGiftOn     DATE,
    RecruitedById   INTEGER REFERENCES Employee (EmployeeId),
    CareOfficerId   INTEGER REFERENCES Employee (EmployeeId),
    NoMail          INTEGER NOT NULL DEFAULT 0
);
INSERT INTO Donor VALUES
    (201, 'P', 'Helmut Beck', 'Graz', 'Austria', 'h.beck@mail.example', '2012-03-10', '2012-12-05', 6, 7, 0),
    (202, 'C', 'Alpine Tools GmbH', 'Linz', 'Austria', 'csr@alpinetools.example', '2014-09-22', '2016-01-18', 6, 6, 0),
    (203, 'P', 'Maria Steiner', 'Salzburg', 'Austria', NULL, '2009-11-30', '2009-12-20', 1, 7, 1),
    (204, 'P', 'Oskar Lindt', 'Bern', 'Switzerland', 'o.lindt@mail.example', '2018-05-04', '2018-05-04', 6, 8, 0),
    (205, 'C', 'Danube Insurance AG', 'Vienna', 'Austria', 'office@danubeins.example', '2019-02-14', '2021-06-30', 7, 6, 0),
    (206, 'P', 'Judith Kral', 'Vienna', 'Austria', 'judith.kral@mail.example', '2021-10-09', '2021-11-01', 7, 7, 0),
    (207, 'C', 'Sunport Bakery', 'Innsbruck', 'Austria', 'hello@sunport.example', '2015-12-01', '2015-12-15', 6, 8, 0),
    (208, 'P', 'Theo Mayr', 'Graz', 'Austria', 'theo.mayr@mail.example', '2023-03-17', '2024-12-11', 7, 8, 1),
    (209, 'P', 'Elena Rossi', 'Bolzano', 'Italy', 'e.rossi@mail.example', '2024-06-02', '2024-06-20', 8, 8, 0),
    (210, 'C', 'Kessler Solar', 'Munich', 'Germany', 'info@kesslersolar.example', '2025-01-15', NULL, 8, 6, 0);

CREATE TABLE Campaign (
    CampaignId  INTEGER PRIMARY KEY,
    Title       TEXT NOT NULL,
    Channel     TEXT,
    StartDate   DATE,
    EndDate     DATE,
    Proceeds    REAL,
    Expenses    REAL
);
INSERT INTO Campaign VALUES
    (31, 'Spring Appeal 2025', 'letter', '2025-03-01', '2025-04-30', 2100, 640),
    (32, 'Wells for Turkana', 'online', '2025-09-15', '2025-12-31', 6500, 890),
    (33, 'Christmas Letter 2025', 'letter', '2025-11-20', '2026-01-15', 5200, 1450),
    (34, 'School Run 2026', 'event', '2026-05-09', '2026-05-09', 2950, 2300),
    (35, 'Spring Appeal 2026', 'letter', '2026-03-01', '2026-05-15', 3300, 710),
    (36, 'Christmas Letter 2026', 'letter', '2026-11-18', NULL, NULL, 380);

CREATE TABLE Partner (
    PartnerId     INTEGER PRIMARY KEY,
    Name          TEXT NOT NULL,
    Town          TEXT,
    Country       TEXT,
    DirectorName  TEXT,
    SinceYear     INTEGER
);
INSERT INTO Partner VALUES
    (41, 'Maji Safi Trust', 'Lodwar', 'Kenya', 'Esther Ekal', 2012),
    (42, 'Elimu Kwanza', 'Nairobi', 'Kenya', 'Peter Mwangi', 2016),
    (43, 'Jardins du Fleuve', 'Podor', 'Senegal', 'Ousmane Sy', 2017),
    (44, 'Himal Health Circle', 'Pokhara', 'Nepal', 'Sita Gurung', 2019),
    (45, 'Femmes en Marche', 'Dakar', 'Senegal', 'Awa Ndiaye', 2021);

CREATE TABLE Project (
    ProjectId           INTEGER PRIMARY KEY,
    Code                TEXT NOT NULL UNIQUE,
    Title               TEXT NOT NULL,
    PartnerId           INTEGER REFERENCES Partner (PartnerId),
    Country             TEXT,
    HqCoordinatorId     INTEGER REFERENCES Employee (EmployeeId),
    FieldCoordinatorId  INTEGER REFERENCES Employee (EmployeeId),
    PlannedStart        DATE,
    ActualStart         DATE,
    PlannedEnd          DATE,
    BudgetTotal         REAL,
    PeopleTargeted      INTEGER,
    PeopleReached       INTEGER,
    Status              TEXT
);
INSERT INTO Project VALUES
    (1, 'WASH-3', 'Wells and Latrines in Turkana', 41, 'Kenya', 2, 4, '2024-01-01', '2024-02-15', '2026-12-31', 310000, 12000, 9400, 'Running'),
    (2, 'EDU-7', 'Girls at Secondary School', 42, 'Kenya', 2, 5, '2025-01-01', '2025-01-01', '2027-12-31', 184000, 850, 410, 'Running'),
    (3, 'AGRI-2', 'River Gardens', 43, 'Senegal', 3, 3, '2023-06-01', '2023-06-01', '2025-05-31', 96000, 1400, 1620, 'Closed'),
    (4, 'HLTH-5', 'Mother and Child Clinics', 44, 'Nepal', 2, 9, '2025-04-01', '2025-09-10', '2028-03-31', 225000, 6000, 1150, 'Running'),
    (5, 'AGRI-4', 'Seed Banks', 43, 'Senegal', 3, 3, '2026-09-01', NULL, '2029-08-31', 142000, 2000, 0, 'Planned'),
    (6, 'WOM-1', 'Savings Groups for Women', 45, 'Senegal', 3, NULL, '2024-10-01', '2024-10-20', '2026-09-30', 58000, 600, 735, 'Running');

CREATE TABLE BudgetLine (
    LineId     INTEGER PRIMARY KEY,
    ProjectId  INTEGER NOT NULL REFERENCES Project (ProjectId),
    Category   TEXT NOT NULL,
    Planned    REAL,
    Spent      REAL
);
INSERT INTO BudgetLine VALUES
    (1, 1, 'Staff', 90000, 81200), (2, 1, 'Construction', 205000, 198400), (3, 1, 'Transport', 30000, 34100),
    (4, 2, 'Staff', 62000, 24000), (5, 2, 'Scholarships', 110000, 51800), (6, 2, 'Transport', 12000, 3900),
    (7, 3, 'Staff', 36000, 36500), (8, 3, 'Seeds and tools', 60000, 57700),
    (9, 4, 'Staff', 120000, 31000), (10, 4, 'Medical supplies', 98000, 40200),
    (11, 5, 'Staff', 54000, 0), (12, 5, 'Seeds and tools', 88000, 0),
    (13, 6, 'Staff', 31000, 28800), (14, 6, 'Training', 25500, 21000);

CREATE TABLE Pledge (
    PledgeId    INTEGER PRIMARY KEY,
    DonorId     INTEGER NOT NULL REFERENCES Donor (DonorId),
    ProjectId   INTEGER REFERENCES Project (ProjectId),
    PledgedOn   DATE NOT NULL,
    Amount      REAL NOT NULL,
    Frequency   TEXT NOT NULL,
    Status      TEXT NOT NULL
);
INSERT INTO Pledge VALUES
    (501, 201, 1, '2024-02-01', 50, 'monthly', 'Active'),
    (502, 202, 2, '2025-01-20', 5000, 'yearly', 'Active'),
    (503, 204, NULL, '2019-01-10', 30, 'monthly', 'Ended'),
    (504, 205, 4, '2025-05-05', 8000, 'yearly', 'Active'),
    (505, 206, 2, '2025-02-14', 25, 'monthly', 'Active'),
    (506, 208, NULL, '2025-01-02', 100, 'quarterly', 'Paused'),
    (507, 210, 2, '2026-02-01', 3000, 'yearly', 'Active'),
    (508, 203, 3, '2023-07-01', 40, 'monthly', 'Ended');

CREATE TABLE Gift (
    GiftId       INTEGER PRIMARY KEY,
    DonorId      INTEGER REFERENCES Donor (DonorId),
    CampaignId   INTEGER REFERENCES Campaign (CampaignId),
    ProjectId    INTEGER REFERENCES Project (ProjectId),
    ReceivedOn   DATE NOT NULL,
    BankedOn     DATE,
    Method       TEXT,
    GrossAmount  REAL NOT NULL,
    NetAmount    REAL,
    ThankedOn    DATE
);
INSERT INTO Gift VALUES
    (8001, 201, 31, NULL, '2025-03-20', '2025-03-21', 'transfer', 500, 500, '2025-03-28'),
    (8002, 203, 31, NULL, '2025-04-02', '2025-04-07', 'cheque', 1200, 1194, '2025-04-10'),
    (8003, 206, 31, 2, '2025-04-30', '2025-05-02', 'card', 250, 243.5, NULL),
    (8004, 204, 32, 1, '2025-10-11', '2025-10-14', 'card', 2000, 1952, '2025-10-20'),
    (8005, 202, 32, 1, '2025-11-28', '2025-11-28', 'transfer', 4000, 4000, '2025-12-01'),
    (8006, NULL, 32, 1, '2025-12-05', '2025-12-09', 'card', 60, 58.2, NULL),
    (8007, 207, 33, NULL, '2025-12-15', '2025-12-16', 'transfer', 1500, 1500, '2025-12-19'),
    (8008, 205, 33, 4, '2025-12-30', '2026-01-02', 'transfer', 3000, 3000, '2026-01-08'),
    (8009, 201, 33, 3, '2026-01-04', '2026-01-05', 'cheque', 600, 597, '2026-01-12'),
    (8010, 209, NULL, 6, '2026-02-18', '2026-02-20', 'card', 90, 87.4, '2026-03-01'),
    (8011, 206, 35, 2, '2026-04-29', '2026-05-04', 'card', 300, 292.1, '2026-05-10'),
    (8012, 203, 35, NULL, '2026-04-30', '2026-05-08', 'cheque', 1500, 1494, '2026-05-12'),
    (8013, 202, 35, 2, '2026-05-12', '2026-05-12', 'transfer', 1400, 1400, '2026-05-15'),
    (8014, 207, 34, NULL, '2026-05-09', '2026-05-11', 'cash', 2200, 2200, NULL),
    (8015, 209, 34, 6, '2026-05-30', '2026-06-02', 'card', 400, 390.4, '2026-06-09'),
    (8016, 201, NULL, 1, '2026-08-01', '2026-08-03', 'transfer', 50, 50, NULL),
    (8017, 204, 36, NULL, '2026-11-21', '2026-11-23', 'card', 750, 731, NULL);

-- Gifts before 2025.
CREATE TABLE GiftArchive (
    GiftId       INTEGER PRIMARY KEY,
    DonorId      INTEGER,
    ReceivedOn   DATE NOT NULL,
    Method       TEXT,
    GrossAmount  REAL NOT NULL,
    NetAmount    REAL
);
INSERT INTO GiftArchive VALUES
    (4101, 203, '2022-12-18', 'cheque', 800, 796),
    (4102, 202, '2022-04-04', 'transfer', 2500, 2500),
    (4103, 201, '2022-11-30', 'card', 150, 146.1),
    (4104, 204, '2023-06-12', 'transfer', 360, 360),
    (4105, 207, '2023-12-15', 'transfer', 1000, 1000),
    (4106, 205, '2024-07-01', 'transfer', 6000, 6000),
    (4107, 208, '2024-12-11', 'card', 400, 391);

CREATE TABLE Funder (
    FunderId      INTEGER PRIMARY KEY,
    Name          TEXT NOT NULL,
    Country       TEXT,
    ContactName   TEXT,
    ContactEmail  TEXT
);
INSERT INTO Funder VALUES
    (61, 'Arve Foundation', 'Switzerland', 'Claude Perret', 'perret@arve.example'),
    (62, 'Province of Styria', 'Austria', 'Gerda Pichler', 'pichler@province.example'),
    (63, 'Open Water Fund', 'Netherlands', 'Joost van Rijn', 'jvr@openwater.example'),
    (64, 'Kenya Learning Initiative', 'Kenya', 'Faith Njeri', NULL),
    (65, 'Sisters of the Valley', 'Austria', 'Sr. Agatha', 'agatha@valley.example');

CREATE TABLE Grants (
    GrantId          INTEGER PRIMARY KEY,
    FunderId         INTEGER NOT NULL REFERENCES Funder (FunderId),
    ProjectId        INTEGER REFERENCES Project (ProjectId),
    Reference        TEXT,
    AppliedOn        DATE,
    DecidedOn        DATE,
    AmountRequested  REAL,
    AmountAwarded    REAL,
    AmountPaid       REAL,
    Status           TEXT NOT NULL
);
INSERT INTO Grants VALUES
    (701, 61, 1, 'ARV-23-118', '2023-08-30', '2023-11-12', 150000, 120000, 120000, 'Awarded'),
    (702, 63, 1, 'OWF/2024/9', '2024-03-01', '2024-06-20', 90000, 90000, 60000, 'Awarded'),
    (703, 62, 2, NULL, '2024-09-15', '2024-12-19', 40000, 25000, 12500, 'Awarded'),
    (704, 64, 2, 'KLI-77', '2025-01-31', '2025-03-30', 60000, 60000, 20000, 'Awarded'),
    (705, 61, 4, 'ARV-24-201', '2024-10-01', '2025-01-20', 180000, 140000, 70000, 'Awarded'),
    (706, 62, 3, NULL, '2023-02-01', '2023-05-05', 30000, 30000, 30000, 'Closed'),
    (707, 65, 6, NULL, '2024-05-10', '2024-06-01', 15000, NULL, NULL, 'Declined'),
    (708, 63, 5, 'OWF/2026/2', '2026-03-12', NULL, 75000, NULL, NULL, 'Applied'),
    (709, 64, 2, 'KLI-91', '2026-04-02', '2026-07-15', 45000, NULL, NULL, 'Declined'),
    (710, 65, 4, NULL, '2025-06-06', '2025-07-01', 12000, 10000, 10000, 'Closed');

CREATE TABLE GrantReport (
    ReportId     INTEGER PRIMARY KEY,
    GrantId      INTEGER NOT NULL REFERENCES Grants (GrantId),
    DueOn        DATE NOT NULL,
    SubmittedOn  DATE,
    AuthorId     INTEGER,
    ReviewerId   INTEGER,
    Pages        INTEGER
);
INSERT INTO GrantReport VALUES
    (1, 701, '2024-12-31', '2025-01-20', 4, 2, 34),
    (2, 702, '2025-06-30', '2025-06-28', 4, 2, 21),
    (3, 703, '2025-12-31', '2025-12-31', 5, 4, 18),
    (4, 705, '2026-01-31', '2026-03-05', 9, 2, 40),
    (5, 706, '2025-07-31', '2025-07-12', 3, 2, 26),
    (6, 704, '2026-03-31', '2026-04-02', 5, 4, 15),
    (7, 701, '2026-12-31', NULL, 4, NULL, NULL);

CREATE TABLE Volunteer (
    VolunteerId  INTEGER PRIMARY KEY,
    Name         TEXT NOT NULL,
    Profession   TEXT,
    Country      TEXT,
    BirthYear    INTEGER,
    HasLicence   INTEGER,
    Status       TEXT NOT NULL          -- Applied, Active, Declined, Left
);
INSERT INTO Volunteer VALUES
    (901, 'Hanna Egger', 'nurse', 'Austria', 1991, 1, 'Active'),
    (902, 'Kevin Omondi', 'teacher', 'Kenya', 1996, 0, 'Active'),
    (903, 'Lea Brugger', 'teacher', 'Austria', 1988, 1, 'Active'),
    (904, 'Mercy Akinyi', 'nurse', 'Kenya', 1994, 0, 'Active'),
    (905, 'Jakob Reiter', 'engineer', 'Austria', 1959, 1, 'Left'),
    (906, 'Sabine Moser', 'nurse', 'Austria', 1979, 0, 'Declined'),
    (907, 'Moussa Fall', 'agronomist', 'Senegal', 1985, 1, 'Active'),
    (908, 'Tobias Wolf', 'student', 'Germany', 2004, NULL, 'Applied'),
    (909, 'Daniel Kiprop', 'teacher', 'Kenya', 1990, 1, 'Declined'),
    (910, 'Paula Senn', 'accountant', 'Switzerland', 1966, 1, 'Declined');

CREATE TABLE Assignment (
    VolunteerId  INTEGER NOT NULL REFERENCES Volunteer (VolunteerId),
    ProjectId    INTEGER NOT NULL REFERENCES Project (ProjectId),
    FromDate     DATE NOT NULL,
    ToDate       DATE,
    HoursAgreed  INTEGER,
    HoursWorked  INTEGER,
    PRIMARY KEY (VolunteerId, ProjectId)
);
INSERT INTO Assignment VALUES
    (901, 4, '2025-10-01', '2026-03-31', 600, 640),
    (904, 4, '2026-01-15', NULL, 500, 210),
    (902, 2, '2025-02-01', NULL, 900, 720),
    (903, 2, '2025-08-20', '2025-12-20', 320, 300),
    (905, 1, '2024-03-01', '2024-08-31', 480, 555),
    (907, 3, '2023-07-01', '2025-05-31', 400, 400),
    (907, 6, '2025-06-15', NULL, 200, 90);
