select x from a
select s, t1.lift-off from a as t1 where t1.x = "s , s"