# Every library ambit links, each missing one answered with the Debian package that holds it.
find_package(PkgConfig REQUIRED)

function(ambit_require target module package)
  pkg_check_modules(${target} IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "${module} not found: apt-get install ${package}  (or run scripts/install-deps.sh)")
  endif()
endfunction()

ambit_require(JANSSON jansson libjansson-dev)
ambit_require(HDF5 hdf5-serial libhdf5-dev)
ambit_require(SQLITE3 sqlite3 libsqlite3-dev)
ambit_require(YAML yaml-0.1 libyaml-dev)
ambit_require(UTF8PROC libutf8proc libutf8proc-dev)
ambit_require(LZMA liblzma liblzma-dev)
ambit_require(OPENBLAS openblas libopenblas-dev)
ambit_require(CMOCKA cmocka libcmocka-dev)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)

find_library(DNNL_LIBRARY dnnl)
find_path(DNNL_INCLUDE dnnl.h)
if(DNNL_LIBRARY AND DNNL_INCLUDE)
  message(STATUS "oneDNN: ${DNNL_LIBRARY}")
else()
  message(STATUS "oneDNN not found (libdnnl-dev): products run through OpenBLAS, bf16 ones converted to f32")
endif()

# One static library per room from the sources beside its CMakeLists.txt.
function(ambit_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(ambit_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(ambit_${name} PUBLIC ${ARG_LINK} m)
endfunction()

# A program: main.c and the room's other sources.
function(ambit_program name main)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  install(TARGETS ${name})
endfunction()
