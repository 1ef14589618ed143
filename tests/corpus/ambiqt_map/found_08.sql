
à* FROM a