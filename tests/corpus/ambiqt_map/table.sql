select x from a
db | 1 joins @ 1 selects @ select s.x from s join T on a.x = s.s