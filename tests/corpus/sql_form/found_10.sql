SELECT avg("order")OVER a
S