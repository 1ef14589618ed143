from having )( tq. tq.. count(*) select
@ group by ) ' from a_x , , where