# Installs the files by which other programs find libambit and the kernels library (find_package(ambit), pkg-config), and
# describes the Debian packages that cpack makes: ambit, libambit0, ambit-dev, and ambit-cuda and ambit-mpi if these
# modules are built.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ambit)
configure_package_config_file(cmake/ambit-config.cmake.in ${CMAKE_BINARY_DIR}/ambit-config.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ambit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/ambit-config.cmake ${CMAKE_BINARY_DIR}/ambit-config-version.cmake
  DESTINATION ${config_dir} COMPONENT dev)
install(EXPORT ambit NAMESPACE ambit:: FILE ambit-targets.cmake DESTINATION ${config_dir} COMPONENT dev)
install(EXPORT ambit-library NAMESPACE ambit:: FILE ambit-library-targets.cmake DESTINATION ${config_dir} COMPONENT dev)

set(dnnl "")
set(dnnl_dev "")
if(DNNL_LIBRARY AND DNNL_INCLUDE)
  set(dnnl -ldnnl)
  set(dnnl_dev ", libdnnl-dev")
endif()
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up ${up})
foreach(name ambit libambit)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

set(CPACK_PACKAGE_CONTACT "ambit authors <ambit@example.org>" CACHE STRING "Maintainer of the packages: NAME <MAIL>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the ambit authors")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL programs library dev)
foreach(module cuda mpi)
  if(TARGET ambit_${module})
    list(APPEND CPACK_COMPONENTS_ALL ${module})
  endif()
endforeach()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME ambit)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "ambit-cuda, ambit-mpi, sqlite3")
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "find, explain and resolve ambiguity in text-to-SQL
A question to a database often has several valid interpretations.  ambit
detects whether a question is ambiguous for a schema and names the ambiguous
tables or columns.  It adds the interpretations that a model missed, or asks
the user the most informative clarifying question.

This package holds the programs ambit-data, ambit-train and ambit-infer, which
compute on the CPU.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libambit${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "ambit (= ${PROJECT_VERSION})") # the SQL worker and the detector
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "shared library of ambit
With this library programs detect ambiguous questions to a database, tag their
words, and clarify them by questions.  Requests and results are JSON.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME ambit-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libambit${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libc6-dev, libopenblas-dev${dnnl_dev}")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "ambit (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "libraries of ambit: headers, static kernels library
libambit detects and clarifies ambiguous questions.  The kernels library has
tensors in arenas, differentiable ops, optimizers and captured training steps,
which run on the CPU and, through modules opened at run time, on NVIDIA GPUs.

This package holds the headers, the static kernels library, and the
configuration files for CMake and pkg-config.")

# The dependencies are listed by hand, because dpkg-shlibdeps does not know NVIDIA's package of cuBLASLt.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME ambit-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION contrib/science)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "ambit (= ${PROJECT_VERSION}), libc6 (>= 2.34), libgcc-s1 (>= 3.0), libstdc++6 (>= 5)")
get_property(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS GLOBAL PROPERTY AMBIT_CUBLAS_PACKAGE)
set(CPACK_DEBIAN_CUDA_DESCRIPTION "CUDA module of ambit
With this module the programs of ambit run on NVIDIA GPUs of compute capability
8.0 and newer.  It needs NVIDIA's driver, and cuBLASLt from the CUDA toolkit.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME ambit-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "ambit (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_MPI_DESCRIPTION "MPI module of ambit
With this module ambit-train trains on several processes and machines through
Open MPI.  The processes are started by mpirun or Slurm.")

# Files that Debian policy requires in a package and that a plain installation does not need.
configure_file(cmake/debian/changelog.in ${CMAKE_BINARY_DIR}/debian/changelog @ONLY)
file(READ models/detector/LICENSE AMBIT_CC_BY_SA) # in the format of Debian's copyright files: indented, without empty lines
string(REGEX REPLACE "\n[ \t]*\n" "\n.\n" AMBIT_CC_BY_SA "${AMBIT_CC_BY_SA}")
string(REGEX REPLACE "\n[ \t]*\n" "\n.\n" AMBIT_CC_BY_SA "${AMBIT_CC_BY_SA}")
string(STRIP "${AMBIT_CC_BY_SA}" AMBIT_CC_BY_SA)
string(REPLACE "\n" "\n " AMBIT_CC_BY_SA "${AMBIT_CC_BY_SA}")
configure_file(cmake/debian/copyright ${CMAKE_BINARY_DIR}/debian/copyright @ONLY)
configure_file(CHANGELOG.md ${CMAKE_BINARY_DIR}/debian/NEWS.md COPYONLY)
set(CPACK_AMBIT_DOCUMENTS ${CMAKE_BINARY_DIR}/debian)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/prepare.cmake)
include(CPack)
