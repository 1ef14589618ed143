-- A small manufacturer of garden furniture and gates: parts, suppliers, stock, purchase, work and sales orders.

CREATE TABLE Employee (
    EmpID INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Dept TEXT,
    Shift TEXT,
    HiredDt TEXT,
    SupervisorID INTEGER REFERENCES Employee (EmpID),
    DeputyID INTEGER REFERENCES Employee (EmpID)
);

CREATE TABLE Supplier (
    SupplierID INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    ContactName TEXT,
    Phone TEXT,
    City TEXT,
    Country TEXT,
    PayTermDays INTEGER,
    QualityGrade TEXT
);

CREATE TABLE Part (
    PartNo TEXT PRIMARY KEY,
    Descr TEXT NOT NULL,
    PartGroup TEXT,
    Material TEXT,
    NetWt REAL, -- kg a piece
    GrossWt REAL, -- kg with packaging
    StdCost REAL,
    LastCost REAL,
    ListPrice REAL,
    BookQty INTEGER, -- according to the ledger
    MinStock INTEGER,
    PrefSupplierID INTEGER REFERENCES Supplier (SupplierID),
    AltSupplierID INTEGER REFERENCES Supplier (SupplierID)
);

CREATE TABLE BomLine (
    ParentPartNo TEXT REFERENCES Part (PartNo),
    ChildPartNo TEXT REFERENCES Part (PartNo),
    Qty INTEGER NOT NULL,
    PRIMARY KEY (ParentPartNo, ChildPartNo)
);

CREATE TABLE Warehouse (
    WhCode TEXT PRIMARY KEY,
    WhName TEXT,
    Town TEXT,
    KeeperID INTEGER REFERENCES Employee (EmpID)
);

CREATE TABLE Stock (
    WhCode TEXT REFERENCES Warehouse (WhCode),
    PartNo TEXT REFERENCES Part (PartNo),
    QtyOnHand INTEGER,
    QtyReserved INTEGER,
    Bin TEXT,
    LastCountDt TEXT,
    LastMoveDt TEXT,
    PRIMARY KEY (WhCode, PartNo)
);

CREATE TABLE StockMove (
    MoveID INTEGER PRIMARY KEY,
    PartNo TEXT,
    FromWh TEXT REFERENCES Warehouse (WhCode),
    ToWh TEXT REFERENCES Warehouse (WhCode),
    Qty INTEGER,
    MoveDt TEXT,
    EmpID INTEGER
);

CREATE TABLE Machine (
    MachCode TEXT PRIMARY KEY,
    MachName TEXT,
    Hall INTEGER,
    BuiltYear INTEGER,
    BoughtDt TEXT,
    HourRate REAL,
    LastServiceDt TEXT,
    NextServiceDt TEXT
);

CREATE TABLE WorkOrder (
    WONo INTEGER PRIMARY KEY,
    PartNo TEXT REFERENCES Part (PartNo),
    MachCode TEXT REFERENCES Machine (MachCode),
    QtyPlanned INTEGER,
    QtyGood INTEGER,
    QtyScrap INTEGER,
    PlanStartDt TEXT,
    ActStartDt TEXT,
    PlanEndDt TEXT,
    ActEndDt TEXT,
    SetupHrs REAL,
    RunHrs REAL,
    PlannerID INTEGER REFERENCES Employee (EmpID),
    ForemanID INTEGER REFERENCES Employee (EmpID),
    Status TEXT
);

CREATE TABLE WorkOrderHist (
    WONo INTEGER PRIMARY KEY,
    PartNo TEXT,
    MachCode TEXT,
    QtyPlanned INTEGER,
    QtyGood INTEGER,
    QtyScrap INTEGER,
    ActStartDt TEXT,
    ActEndDt TEXT,
    ArchivedDt TEXT
);

CREATE TABLE PurchOrder (
    PONo INTEGER PRIMARY KEY,
    SupplierID INTEGER REFERENCES Supplier (SupplierID),
    OrderDt TEXT,
    PromisedDt TEXT,
    ReceivedDt TEXT,
    BuyerID INTEGER REFERENCES Employee (EmpID),
    ApproverID INTEGER,
    TotalAmt REAL, -- with freight and surcharges
    Status TEXT
);

CREATE TABLE PurchOrderLine (
    PONo INTEGER REFERENCES PurchOrder (PONo),
    LineNo INTEGER,
    PartNo TEXT REFERENCES Part (PartNo),
    QtyOrdered INTEGER,
    QtyReceived INTEGER,
    UnitPrice REAL,
    PRIMARY KEY (PONo, LineNo)
);

CREATE TABLE Customer (
    CustNo INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Segment TEXT,
    ContactName TEXT,
    Phone TEXT,
    BillCity TEXT,
    ShipCity TEXT,
    CreditLimit INTEGER,
    SalesRepID INTEGER
);

CREATE TABLE SalesOrder (
    SONo INTEGER PRIMARY KEY,
    CustNo INTEGER REFERENCES Customer (CustNo),
    OrderDt TEXT,
    ReqDelivDt TEXT,
    ConfDelivDt TEXT,
    ShipDt TEXT,
    NetAmt REAL,
    GrossAmt REAL,
    Status TEXT
);

CREATE TABLE SalesOrderLine (
    SONo INTEGER REFERENCES SalesOrder (SONo),
    LineNo INTEGER,
    PartNo TEXT,
    Qty INTEGER,
    UnitPrice REAL,
    DiscPct REAL,
    PRIMARY KEY (SONo, LineNo)
);

INSERT INTO Employee VALUES
    (1, 'Renate Vogl', 'Purchasing', 'day', '2008-03-01', NULL, 2),
    (2, 'Ivo Kralj', 'Purchasing', 'day', '2016-06-15', 1, 1),
    (3, 'Sabine Aigner', 'Planning', 'day', '2012-09-01', 1, 4),
    (4, 'Lukas Thaler', 'Planning', 'day', '2021-02-01', 3, 3),
    (5, 'Dragan Petrov', 'Metal shop', 'early', '2010-01-11', 3, 6),
    (6, 'Moni Hofer', 'Wood shop', 'late', '2018-04-03', 3, 5),
    (7, 'Ali Yildiz', 'Metal shop', 'night', '2019-10-21', 5, NULL),
    (8, 'Franz Leitner', 'Stores', 'early', '2005-05-02', 1, 9),
    (9, 'Petra Wolf', 'Stores', 'late', '2024-01-08', 8, 8),
    (10, 'Nora Stein', 'Sales', 'day', '2024-07-01', 1, NULL);

INSERT INTO Supplier VALUES
    (11, 'Huber Stahl', 'Kurt Huber', '+43 732 555 011', 'Linz', 'AT', 30, 'A'),
    (12, 'Eisen Maier', 'Lisl Maier', '+43 316 555 012', 'Graz', 'AT', 14, 'B'),
    (13, 'Carpathia Timber', 'Radu Ionescu', '+40 264 555 013', 'Cluj', 'RO', 45, 'A'),
    (14, 'Bodensee Beschläge', 'Ute Frick', '+49 7531 555 014', 'Konstanz', 'DE', 60, 'A'),
    (15, 'Lack & Farbe Novak', NULL, '+43 1 555 015', 'Wien', 'AT', 30, 'C'),
    (16, 'Schrauben Discount', 'Jens Ohl', '+49 89 555 016', 'München', 'DE', 0, 'C');

INSERT INTO Part VALUES
    ('B-100', 'Bolt M8 x 60', 'bolt', 'steel', 0.028, 0.030, 0.12, 0.14, 0.40, 5200, 2000, 16, 14),
    ('B-110', 'Bolt M8 x 60 brass', 'bolt', 'brass', 0.031, 0.033, 0.55, 0.49, 1.30, 400, 500, 14, 16),
    ('B-120', 'Bolt M6 x 40', 'bolt', 'steel', 0.013, 0.014, 0.08, 0.08, 0.25, 8000, 2000, 16, NULL),
    ('H-200', 'Gate hinge heavy', 'hinge', 'steel', 0.85, 0.93, 6.40, 7.10, 14.90, 140, 80, 14, 11),
    ('H-210', 'Cupboard hinge', 'hinge', 'brass', 0.09, 0.11, 2.20, 2.20, 5.90, 260, 100, 14, NULL),
    ('R-300', 'Square tube 40 mm', 'raw', 'steel', 13.2, 13.2, 21.00, 24.50, NULL, 310, 120, 11, 12),
    ('R-310', 'Oak board 30 mm', 'raw', 'oak', 9.6, 9.6, 27.00, 26.00, NULL, 180, 60, 13, NULL),
    ('R-320', 'Powder coat black', 'raw', NULL, 1.0, 1.1, 11.50, 12.90, NULL, 75, 40, 15, NULL),
    ('F-400', 'Garden gate single', 'gate', 'steel', 31.5, 36.0, 148.00, 152.00, 389.00, 22, 10, NULL, NULL),
    ('F-410', 'Garden gate double', 'gate', 'steel', 62.0, 71.5, 265.00, 281.00, 689.00, 6, 5, NULL, NULL),
    ('F-500', 'Oak bench', 'bench', 'oak', 24.0, 28.5, 118.00, 115.50, 329.00, 31, 12, NULL, NULL),
    ('F-510', 'Oak bench with backrest', 'bench', 'oak', 33.0, 39.0, 171.00, 169.00, 459.00, 14, 8, NULL, NULL);

INSERT INTO BomLine VALUES
    ('F-400', 'R-300', 4), ('F-400', 'H-200', 2), ('F-400', 'B-100', 12), ('F-400', 'R-320', 1),
    ('F-410', 'F-400', 2), ('F-410', 'B-100', 8), ('F-410', 'H-200', 4),
    ('F-500', 'R-310', 3), ('F-500', 'B-110', 16),
    ('F-510', 'R-310', 5), ('F-510', 'B-110', 22), ('F-510', 'B-120', 6);

INSERT INTO Warehouse VALUES
    ('W1', 'Main store', 'Wels', 8),
    ('W2', 'Timber shed', 'Wels', 8),
    ('W3', 'Dispatch', 'Linz', 9),
    ('W4', 'Outlet', 'Graz', NULL),
    ('W5', 'Overflow', 'Steyr', 9);

INSERT INTO Stock VALUES
    ('W1', 'B-100', 4100, 600, 'A-01', '2025-09-30', '2025-10-28'),
    ('W5', 'B-100', 900, 0, 'X-11', '2025-03-31', '2025-02-14'),
    ('W1', 'B-110', 395, 320, 'A-02', '2025-09-30', '2025-10-30'),
    ('W1', 'B-120', 8000, 60, 'A-03', '2025-09-30', '2024-08-19'),
    ('W1', 'H-200', 131, 40, 'B-01', '2025-09-30', '2025-10-29'),
    ('W1', 'H-210', 260, 0, 'B-02', '2025-06-30', '2024-10-02'),
    ('W1', 'R-300', 295, 80, 'C-07', '2025-09-30', '2025-10-27'),
    ('W2', 'R-310', 150, 45, 'T-02', '2025-08-31', '2025-10-24'),
    ('W5', 'R-310', 30, 0, 'X-12', '2025-03-31', '2025-04-09'),
    ('W1', 'R-320', 71, 10, 'D-01', '2025-09-30', '2025-10-20'),
    ('W3', 'F-400', 14, 6, NULL, '2025-10-31', '2025-10-30'),
    ('W4', 'F-400', 5, 0, NULL, '2025-10-31', '2025-09-18'),
    ('W3', 'F-410', 6, 2, NULL, '2025-10-31', '2025-10-15'),
    ('W3', 'F-500', 19, 11, NULL, '2025-10-31', '2025-10-31'),
    ('W4', 'F-500', 7, 0, NULL, '2025-10-31', '2025-05-22'),
    ('W3', 'F-510', 12, 4, NULL, '2025-10-31', '2025-10-22');

INSERT INTO StockMove VALUES
    (1, 'B-100', 'W1', 'W5', 900, '2025-02-14', 8),
    (2, 'R-310', 'W2', 'W5', 30, '2025-04-09', 8),
    (3, 'F-500', 'W3', 'W4', 8, '2025-05-22', 9),
    (4, 'F-400', 'W3', 'W4', 5, '2025-09-18', 9),
    (5, 'R-310', 'W2', 'W1', 40, '2025-09-25', 8),
    (6, 'H-200', 'W1', 'W3', 20, '2025-10-02', 9),
    (7, 'F-500', 'W4', 'W3', 3, '2025-10-10', 9),
    (8, 'B-110', 'W1', 'W3', 60, '2025-10-30', 8),
    (9, 'R-320', 'W1', 'W5', 5, '2025-10-20', 8);

INSERT INTO Machine VALUES
    ('LA1', 'Tube laser', 1, 2017, '2021-05-10', 92.0, '2025-06-12', '2025-12-12'),
    ('SA1', 'Band saw', 1, 1998, '1998-11-02', 34.0, '2025-01-20', '2026-01-20'),
    ('WE1', 'Welding cell', 1, 2012, '2012-02-27', 78.0, '2025-08-04', '2025-11-04'),
    ('WE2', 'Welding bench', 1, 2009, '2009-04-14', 45.0, '2024-11-18', '2025-11-18'),
    ('PL1', 'Planer', 2, 1989, '2006-09-30', 39.5, '2025-02-11', '2026-02-11'),
    ('CN1', 'CNC router', 2, 2019, '2019-03-15', 88.0, '2025-05-30', '2025-11-30'),
    ('CO1', 'Coating booth', 2, 2014, '2020-10-01', 60.0, NULL, '2025-10-01');

INSERT INTO WorkOrder VALUES
    (5001, 'F-400', 'WE1', 20, 19, 1, '2025-08-04', '2025-08-04', '2025-08-15', '2025-08-14', 2.0, 61.5, 3, 5, 'done'),
    (5002, 'F-500', 'CN1', 30, 27, 2, '2025-08-11', '2025-08-13', '2025-08-22', '2025-08-28', 3.5, 54.0, 4, 6, 'done'),
    (5003, 'F-410', 'WE1', 6, 6, 0, '2025-09-01', '2025-09-08', '2025-09-10', '2025-09-19', 4.0, 47.0, 3, 7, 'done'),
    (5004, 'F-510', 'CN1', 12, 11, 1, '2025-09-15', '2025-09-12', '2025-09-30', '2025-09-29', 3.0, 40.5, 4, 6, 'done'),
    (5005, 'F-400', 'WE2', 10, 4, 3, '2025-10-06', '2025-10-09', '2025-10-17', NULL, 2.5, 22.0, 3, 7, 'on hold'),
    (5006, 'F-500', 'PL1', 24, 8, 0, '2025-10-20', '2025-10-20', '2025-11-07', NULL, 1.5, 19.0, 4, 6, 'running'),
    (5007, 'F-410', 'WE1', 5, NULL, NULL, '2025-11-03', NULL, '2025-11-14', NULL, NULL, NULL, 3, 5, 'planned'),
    (5008, 'F-510', 'CN1', 10, NULL, NULL, '2025-11-10', NULL, '2025-11-24', NULL, NULL, NULL, 3, 6, 'planned');

INSERT INTO WorkOrderHist VALUES
    (3120, 'F-400', 'WE2', 15, 13, 2, '2023-03-06', '2023-03-17', '2024-01-10'),
    (3121, 'F-500', 'CN1', 40, 31, 9, '2023-04-12', '2023-05-02', '2024-01-10'),
    (3388, 'F-400', 'WE1', 25, 25, 0, '2024-02-05', '2024-02-16', '2025-01-09'),
    (3401, 'F-510', 'PL1', 8, 7, 1, '2024-05-21', '2024-06-03', '2025-01-09'),
    (3455, 'F-410', 'WE1', 4, 3, 1, '2024-09-09', '2024-09-20', '2025-01-09'),
    (3470, 'F-500', 'CN1', 30, 24, 6, '2024-10-14', '2024-10-31', '2025-01-09');

INSERT INTO PurchOrder VALUES
    (4501, 11, '2025-03-12', '2025-03-26', '2025-03-25', 2, 1, 2610.00, 'closed'),
    (4502, 13, '2025-04-02', '2025-05-02', '2025-05-14', 2, 1, 2235.00, 'closed'),
    (4503, 16, '2025-04-22', '2025-04-25', '2025-04-25', 1, 3, 719.00, 'closed'),
    (4504, 14, '2025-06-17', '2025-07-01', '2025-07-09', 1, 1, 745.00, 'closed'),
    (4505, 11, '2025-08-29', '2025-09-12', '2025-09-12', 2, 1, 3920.00, 'closed'),
    (4506, 15, '2025-09-30', '2025-10-10', NULL, 2, 3, 331.50, 'partly received'),
    (4507, 13, '2025-10-08', '2025-11-07', NULL, 1, 3, 1560.00, 'sent'),
    (4508, 12, '2025-10-21', '2025-10-30', NULL, 1, NULL, 1225.00, 'draft');

INSERT INTO PurchOrderLine VALUES
    (4501, 1, 'R-300', 100, 100, 23.50), (4501, 2, 'H-200', 20, 20, 6.80),
    (4502, 1, 'R-310', 80, 80, 26.50),
    (4503, 1, 'B-100', 4000, 4000, 0.14), (4503, 2, 'B-120', 1500, 1500, 0.08),
    (4504, 1, 'H-200', 60, 60, 7.10), (4504, 2, 'B-110', 600, 560, 0.49),
    (4505, 1, 'R-300', 160, 160, 24.50),
    (4506, 1, 'R-320', 25, 15, 12.90),
    (4507, 1, 'R-310', 60, 0, 26.00),
    (4508, 1, 'R-300', 50, 0, 24.50);

INSERT INTO Customer VALUES
    (21, 'Huber Gartenbau', 'builder', 'Eva Huber', '+43 316 555 121', 'Graz', 'Leibnitz', 15000, 10),
    (22, 'Grünwelt Märkte', 'retailer', 'Olaf Brandner', '+43 1 555 122', 'Wien', 'Graz', 40000, 10),
    (23, 'Stadt Wels', 'public', NULL, '+43 7242 555 123', 'Wels', 'Wels', NULL, NULL),
    (24, 'Zaun Pichler', 'builder', 'Hans Pichler', '+43 662 555 124', 'Salzburg', 'Salzburg', 8000, 10),
    (25, 'Landhaus Versand', 'retailer', 'Mira Cerny', '+43 732 555 125', 'Linz', 'Wels', 9000, 1),
    (26, 'Gärtnerei Sommer', 'builder', 'Ida Sommer', '+43 316 555 126', 'Graz', 'Graz', 12000, NULL),
    (27, 'Pension Seeblick', 'private', 'Theo Rauch', NULL, 'Hallstatt', 'Hallstatt', 2000, 10);

INSERT INTO SalesOrder VALUES
    (7001, 22, '2025-04-03', '2025-04-24', '2025-04-28', '2025-04-28', 6251.00, 7501.20, 'invoiced'),
    (7002, 21, '2025-04-15', '2025-05-06', '2025-05-06', '2025-05-05', 1867.20, 2240.64, 'invoiced'),
    (7003, 24, '2025-04-29', '2025-05-20', '2025-05-27', '2025-06-02', 2067.00, 2480.40, 'invoiced'),
    (7004, 25, '2025-06-10', '2025-06-25', '2025-07-01', '2025-06-30', 3290.00, 3948.00, 'invoiced'),
    (7005, 23, '2025-08-19', '2025-09-15', '2025-09-15', '2025-09-22', 4131.00, 4957.20, 'invoiced'),
    (7006, 26, '2025-09-11', '2025-10-01', '2025-10-08', '2025-10-07', 1758.50, 2110.20, 'shipped'),
    (7007, 22, '2025-10-02', '2025-10-23', '2025-11-13', NULL, 8250.00, 9900.00, 'confirmed'),
    (7008, 27, '2025-10-16', '2025-11-05', NULL, NULL, 658.00, 789.60, 'new'),
    (7009, 21, '2025-10-24', '2025-11-14', '2025-11-14', NULL, 1246.00, 1495.20, 'confirmed');

INSERT INTO SalesOrderLine VALUES
    (7001, 1, 'F-500', 20, 312.55, 5.0),
    (7002, 1, 'F-400', 4, 389.00, 0), (7002, 2, 'F-500', 1, 329.00, 5.0),
    (7003, 1, 'F-410', 3, 689.00, 0),
    (7004, 1, 'F-500', 10, 329.00, 0),
    (7005, 1, 'F-510', 9, 459.00, 0),
    (7006, 1, 'F-400', 3, 369.55, 5.0), (7006, 2, 'F-500', 2, 329.00, 0),
    (7007, 1, 'F-500', 15, 296.10, 10.0), (7007, 2, 'F-400', 10, 389.00, 2.0),
    (7008, 1, 'F-500', 2, 329.00, 0),
    (7009, 1, 'F-400', 2, 389.00, 0), (7009, 2, 'F-510', 1, 459.00, 0);
