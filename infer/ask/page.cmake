# Writes a file as an array in C.  usage: cmake -DFROM=page.html -DTO=page.c -DNAME=page -P page.cmake
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "#include \"infer/ask/ask.h\"\n\nconst char ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_bytes = sizeof ${NAME};\n")
