# What an installation has beside the tool and the providers' modules, which install themselves: the library, its
# header, what pkg-config and find_package(tutti) read, the licence and the documents.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(TARGETS libtutti EXPORT tutti LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_SOURCE_DIR}/api/tutti.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tutti NAMESPACE tutti:: FILE tuttiTargets.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/tuttiConfig.cmake ${CMAKE_BINARY_DIR}/tuttiConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_SOURCE_DIR}/cmake/tutti.pc.in ${CMAKE_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB documents ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(section 1 3 5 7)
  file(GLOB pages ${CMAKE_SOURCE_DIR}/docs/man/*.${section})
  if(pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()
