# Sets the commit for --version and packages: AMBIT_COMMIT, AMBIT_COMMIT_DATE (2026-01-31), AMBIT_COMMIT_MAIL_DATE.
# In a source archive, commit.txt holds the commit, written by git archive (.gitattributes).  In a checkout, git is asked.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit LIMIT_COUNT 1)
if(EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND git log -1 "--format=%H %ct" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(AMBIT_COMMIT unknown)
set(epoch $ENV{SOURCE_DATE_EPOCH})
if(commit MATCHES "^([0-9a-f]+) ([0-9]+)$")
  set(ENV{SOURCE_DATE_EPOCH} ${CMAKE_MATCH_2}) # the time that TIMESTAMP formats
  string(SUBSTRING ${CMAKE_MATCH_1} 0 12 AMBIT_COMMIT)
endif()
string(TIMESTAMP AMBIT_COMMIT_DATE %Y-%m-%d UTC)
string(TIMESTAMP AMBIT_COMMIT_MAIL_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(ENV{SOURCE_DATE_EPOCH} ${epoch})
