




H

iô 0sel@ct y from a_x in