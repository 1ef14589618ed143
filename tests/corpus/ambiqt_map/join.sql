select x from a
select t1.y, t2.x from a as t1 join a_x as t2 on t1.id = t2.id where x in (select a.x from a_x natural join a)