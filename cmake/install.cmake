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
# Manual pages are made of api/tutti.h and of what commands say of themselves.
function(tutti_manuals kind from component)  # DEPENDENCY...
  set(folder ${PROJECT_BINARY_DIR}/manuals/${kind})
  set(script ${PROJECT_SOURCE_DIR}/scripts/man-pages)
  add_custom_command(OUTPUT ${folder}.made DEPENDS ${script} ${ARGN}
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder} COMMAND ${script} ${kind} ${from} ${folder}
                     COMMAND find ${folder} -type f -exec gzip -9n {} + COMMAND ${CMAKE_COMMAND} -E touch ${folder}.made VERBATIM)
  add_custom_target(tutti_manuals_${kind} ALL DEPENDS ${folder}.made)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${component})
endfunction()
tutti_manuals(library ${PROJECT_SOURCE_DIR}/api/tutti.h tutti-dev ${PROJECT_SOURCE_DIR}/api/tutti.h)
if(TUTTI_BUILD_TOOLS)
  tutti_manuals(command $<TARGET_FILE:tutti> tools tutti)
endif()
if(TUTTI_BUILD_BSP)
  set(commands ${PROJECT_BINARY_DIR}/bsp/commands)
  tutti_manuals(bsp ${commands} tutti_bsp-dev ${commands}/bspcc ${commands}/bsprun)
endif()
