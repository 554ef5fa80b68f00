# Debian packages by CPack (scripts/package): the libraries, what building against them needs, the tools, and a package for
# each provider's module, so that an installation asks for the vendors' libraries that it uses and no others.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tutti)
set(TUTTI_PACKAGER "the tutti authors <tutti@example.org>" CACHE STRING "Who answers for the Debian packages")
set(CPACK_PACKAGE_CONTACT ${TUTTI_PACKAGER})
# CPack would put another summary before each package's own, but for this one, which is its default.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGE_VENDOR "the tutti authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

# tutti_package(COMPONENT name PACKAGE name SECTION section SUMMARY text DESCRIPTION text [DEPENDS d] [SUGGESTS s] [SHARED_LIBRARY])
set(triggers ${PROJECT_BINARY_DIR}/triggers)
file(WRITE ${triggers} "activate-noawait ldconfig\n")
file(CHMOD ${triggers} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(changelog ${PROJECT_BINARY_DIR}/changelog.gz)
execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/cmake/debian/changelog OUTPUT_FILE ${changelog} COMMAND_ERROR_IS_FATAL ANY)
function(tutti_package)
  cmake_parse_arguments(p "SHARED_LIBRARY" "COMPONENT;PACKAGE;SECTION;SUMMARY;DESCRIPTION;DEPENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${p_COMPONENT} component)
  set(prefix CPACK_DEBIAN_${component}_PACKAGE)
  set(${prefix}_NAME ${p_PACKAGE} PARENT_SCOPE)
  set(${prefix}_SECTION ${p_SECTION} PARENT_SCOPE)
  set(${prefix}_DEPENDS "${p_DEPENDS}" PARENT_SCOPE)
  set(${prefix}_SUGGESTS "${p_SUGGESTS}" PARENT_SCOPE)
  if(p_SHARED_LIBRARY)
    set(${prefix}_CONTROL_EXTRA ${triggers} PARENT_SCOPE)
  endif()
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${p_SUMMARY}\n${p_DESCRIPTION}" PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright ${changelog} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${p_PACKAGE}
          COMPONENT ${p_COMPONENT})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${p_COMPONENT} PARENT_SCOPE)
endfunction()

set(same "(= ${PROJECT_VERSION})")
set(what "tutti connects the ranks of a parallel program: one-sided put, get, atomics and\n\
signals, barriers and broadcasts, over shared memory, UCX, libfabric and verbs.")
tutti_package(COMPONENT tutti PACKAGE libtutti0 SECTION libs SHARED_LIBRARY
              SUMMARY "communication layer for parallel programs: library" DESCRIPTION "${what}"
              SUGGESTS "tutti-provider-ucx, tutti-provider-ofi, tutti-provider-verbs")
tutti_package(COMPONENT tutti-dev PACKAGE libtutti-dev SECTION libdevel DEPENDS "libtutti0 ${same}" SUGGESTS tutti-tools
              SUMMARY "communication layer for parallel programs: development"
              DESCRIPTION "${what}\n\nThis package has the header, what pkg-config and CMake read, documents and\nexamples.")
tutti_package(COMPONENT tools PACKAGE tutti-tools SECTION utils SUGGESTS "tutti-provider-ucx, tutti-provider-ofi, tutti-provider-verbs"
              SUMMARY "communication layer for parallel programs: the command tutti"
              DESCRIPTION "${what}\n\nThe command starts programs, compares providers, explains choices and simulates\nmachines.")
foreach(row "ucx;UCX" "ofi;libfabric" "verbs;raw verbs, for InfiniBand and RoCE")
  list(POP_FRONT row name)
  if(TARGET tutti_${name})
    tutti_package(COMPONENT provider-${name} PACKAGE tutti-provider-${name} SECTION libs
                  SUMMARY "communication layer for parallel programs: provider ${name}"
                  DESCRIPTION "${what}\n\nThis package has its provider over ${row}.")
  endif()
endforeach()
foreach(row "openmpi;Open MPI" "mpich;MPICH")
  list(POP_FRONT row name)
  if(TARGET tutti_${name})
    tutti_package(COMPONENT mpi-${name} PACKAGE tutti-mpi-${name} SECTION libs DEPENDS "libtutti0 ${same}" SUGGESTS tutti-tools
                  SUMMARY "${row} programs on tutti" DESCRIPTION "${what}\n\nThis package has what ${row} programs preload, so that tutti carries their messages.")
  endif()
endforeach()
if(TUTTI_BUILD_BSP)
  tutti_package(COMPONENT tutti_bsp PACKAGE libtutti-bsp0 SECTION libs SHARED_LIBRARY
                SUMMARY "BSPlib on tutti: library" DESCRIPTION "${what}\n\nThis package runs programs of the classic BSPlib upon it.")
  tutti_package(COMPONENT tutti_bsp-dev PACKAGE libtutti-bsp-dev SECTION libdevel
                DEPENDS "libtutti-bsp0 ${same}, libtutti-dev ${same}, tutti-tools ${same}"
                SUMMARY "BSPlib on tutti: bsp.h, bspcc and bsprun"
                DESCRIPTION "${what}\n\nThis package compiles and starts programs of the classic BSPlib upon it.")
endif()
include(CPack)
