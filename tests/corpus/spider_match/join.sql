select t1.x from a as t1 join b as t2 on t1.x = t2.x join c on c.x = 2
select b.x from b join a on a.x = b.a