select 'a''b' != < = ! = -- :,,1 x.y.z from a as as as
select x + y none x from a on x = ((x