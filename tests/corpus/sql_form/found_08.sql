SELECT "ork"
S d  5