select x, y from a where x > 3 and y = "q"
select y, x from a where y = 2 and x > 1