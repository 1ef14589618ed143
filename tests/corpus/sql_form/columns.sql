SELECT x FROM a
SELECT y FROM a
SELECT "order" FROM b
select T1.x from a as T1
