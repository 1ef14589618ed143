(select x from a) ; union select x from b except select x from c
select x from a intersect select * from b