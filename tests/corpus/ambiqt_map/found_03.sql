u,x
