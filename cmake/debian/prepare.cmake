# Run by cpack on the folders that become packages: documents of Debian's, compressed manual pages, stripped files.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  set(doc ${share}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(COPY ${CPACK_AMBIT_DOCUMENTS}/ DESTINATION ${doc})
  file(REMOVE ${share}/ambit/detector/LICENSE) # whose text is in the copyright file
  file(GLOB pages ${share}/man/man1/*.1)
  run(gzip -9nf ${doc}/changelog ${doc}/NEWS.md ${pages})
  if(EXISTS ${share}/zsh/site-functions) # which Debian's zsh does not read in /usr
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  endif()
  file(GLOB_RECURSE libraries ${CPACK_TEMPORARY_DIRECTORY}/${component}/*.a)
  file(GLOB_RECURSE programs ${CPACK_TEMPORARY_DIRECTORY}/${component}/*.so ${CPACK_TEMPORARY_DIRECTORY}/${component}/*.so.*
    ${CPACK_TEMPORARY_DIRECTORY}/${component}/*/bin/* ${CPACK_TEMPORARY_DIRECTORY}/${component}/*/ambit-sql-worker)
  foreach(file ${libraries})
    run(strip --strip-debug --remove-section=.comment --enable-deterministic-archives ${file})
  endforeach()
  foreach(file ${programs})
    if(IS_SYMLINK ${file})
      continue()
    endif()
    run(strip --strip-unneeded --remove-section=.comment ${file})
  endforeach()
endforeach()
