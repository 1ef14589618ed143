# Writes a file as an array in C.  usage: cmake -DFROM=page.html -DTO=page.c -P page.cmake
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "#include \"infer/ask/ask.h\"\n\nconst char ask_page[] = {\n${bytes}\n};\nconst size_t ask_page_bytes = sizeof ask_page;\n")
