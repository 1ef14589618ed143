SE  ;
dbS