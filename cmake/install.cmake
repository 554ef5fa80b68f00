# What an installation has beside the libraries, the tool and the providers' modules, which install themselves: what
# find_package(tutti) reads, the licence, the documents and the examples.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/tuttiConfig.cmake ${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT tutti-dev)

file(GLOB documents ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tutti-dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tutti-dev
        FILES_MATCHING REGEX "[.](c|h|cpp)$")
function(tutti_manual component)  # PAGE...
  foreach(page ${ARGN})
    string(REGEX MATCH "[0-9]$" section ${page})
    set(packed ${PROJECT_BINARY_DIR}/man/${page}.gz)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
    execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/docs/man/${page} OUTPUT_FILE ${packed} COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${packed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
  endforeach()
endfunction()
if(TUTTI_BUILD_BSP)
  tutti_manual(tutti_bsp-dev bspcc.1 bspc++.1 bspcxx.1 bsprun.1)
endif()

# The others are made of api/tutti.h and of what the command says of itself.
function(tutti_made_manuals kind from component)  # DEPENDENCY...
  set(folder ${PROJECT_BINARY_DIR}/manuals/${kind})
  set(script ${PROJECT_SOURCE_DIR}/scripts/man-pages)
  add_custom_command(OUTPUT ${folder}.made DEPENDS ${script} ${ARGN}
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder} COMMAND ${script} ${kind} ${from} ${folder}
                     COMMAND find ${folder} -type f -exec gzip -9n {} + COMMAND ${CMAKE_COMMAND} -E touch ${folder}.made VERBATIM)
  add_custom_target(tutti_manuals_${kind} ALL DEPENDS ${folder}.made)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${component})
endfunction()
tutti_made_manuals(library ${PROJECT_SOURCE_DIR}/api/tutti.h tutti-dev ${PROJECT_SOURCE_DIR}/api/tutti.h)
if(TUTTI_BUILD_TOOLS)
  tutti_made_manuals(command $<TARGET_FILE:tutti> tools tutti)
endif()
