select t1.y, count(*), avg(t1.x) from a as t1 where q = 1 group by t1.y having avg(t1.x) > 2
select y, number, n.avg_x from a_x as n where avg_x > 2 order by n.y