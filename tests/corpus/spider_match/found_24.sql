SELECT y  count(*) FROM c GROUP BY y ORDER BY count(*)
SELECT y ,  count(*) FROM c GROUP BY y ORDER BY x% ,  x ,  ©©©©©©©N