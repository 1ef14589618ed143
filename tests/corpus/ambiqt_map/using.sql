select x from a
select y from a_x inner join a q using ( id ) ;