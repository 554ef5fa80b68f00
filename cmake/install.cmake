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
tutti_manual(tutti-dev tutti.7)
if(TUTTI_BUILD_TOOLS)
  tutti_manual(tools tutti.1)
endif()
if(TUTTI_BUILD_BSP)
  tutti_manual(tutti_bsp-dev bspcc.1 bspc++.1 bspcxx.1 bsprun.1)
endif()
