# What `cmake --install` copies besides the programs: data, headers, manual pages, completion, documentation.
# Everything is found relative to the program, so the tree can be moved as a whole.
set(MUSTER_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions, below the prefix")
set(MUSTER_BASH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/bash-completion/completions CACHE STRING
    "Where bash-completion looks, below the prefix")

install(DIRECTORY ${PROJECT_SOURCE_DIR}/checks ${PROJECT_SOURCE_DIR}/simulation/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/muster
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/reports/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/muster)

install(FILES ${PROJECT_SOURCE_DIR}/packaging/completion/muster.bash DESTINATION ${MUSTER_BASH_COMPLETIONS} RENAME muster)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/completion/_muster DESTINATION ${MUSTER_ZSH_COMPLETIONS})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
        PATTERN "*.svg" PATTERN "*.png")
# Scripts among them keep their right to be run.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/LICENSE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# Manual pages are written by the program that was built, from its own help: they can't differ from it.
# SOURCE_DATE_EPOCH is respected.
string(TIMESTAMP today "%Y-%m-%d" UTC)
set(MUSTER_MAN_DATE ${today} CACHE STRING "Date of the manual pages")
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(pages ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${pages}/muster.1
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}
                     COMMAND muster manual --folder ${pages} --date ${MUSTER_MAN_DATE}
                     DEPENDS muster COMMENT "Manual pages" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${pages}/muster.1)
  install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
endif()
