# What users link against: a shared library that shows what its version script names and nothing else, or, with TUTTI_STATIC,
# an archive that holds all it needs of tutti and asks for the libraries of others.

# The libraries of others that an archive asks for.
if(TUTTI_STATIC)
  set(TUTTI_NEEDS ${PMIX_LINK_LIBRARIES})
  if(TUTTI_STATIC_PROVIDERS)
    list(APPEND TUTTI_NEEDS ${UCX_LINK_LIBRARIES} ${VERBS_LINK_LIBRARIES} ${OFI_LINK_LIBRARIES})
  endif()
  list(APPEND TUTTI_NEEDS ${CMAKE_DL_LIBS} pthread stdc++ m)
  list(REMOVE_DUPLICATES TUTTI_NEEDS)
endif()

# tutti_public_library(TARGET NAME name EXPORT name HEADERS file or folder... VERSION_SCRIPT file SOURCES ... PARTS target... [LIBS target...]):
# lib<NAME>, in CMake tutti::<EXPORT>, of the sources and of the static libraries that PARTS names; LIBS: other public libraries
# that an archive of it needs.
function(tutti_public_library target)
  cmake_parse_arguments(arg "" "NAME;EXPORT;VERSION_SCRIPT" "HEADERS;SOURCES;PARTS;LIBS" ${ARGN})
  if(TUTTI_STATIC)
    list(TRANSFORM arg_PARTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
    add_library(${target} STATIC ${arg_SOURCES} ${arg_PARTS})
    target_link_libraries(${target} PUBLIC ${arg_LIBS} ${TUTTI_NEEDS})
  else()
    add_library(${target} SHARED ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE ${arg_PARTS})
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/${arg_VERSION_SCRIPT})
    target_link_options(${target} PRIVATE LINKER:--version-script=${script} LINKER:--exclude-libs,ALL)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${script})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} EXPORT_NAME ${arg_EXPORT}
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  add_library(tutti::${arg_EXPORT} ALIAS ${target})
  # In this build as installed the headers are found by their bare names, and no other header of ours is.
  set(include ${PROJECT_BINARY_DIR}/include)
  file(MAKE_DIRECTORY ${include})
  foreach(header IN LISTS arg_HEADERS)
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${include}/${header} SYMBOLIC)
  endforeach()
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${include}>)
  if(NOT TUTTI_INSTALL)
    return()
  endif()

  install(TARGETS ${target} EXPORT ${arg_NAME}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${arg_NAME} NAMELINK_COMPONENT ${arg_NAME}-dev
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${arg_NAME}-dev
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${arg_NAME} NAMESPACE tutti:: FILE ${arg_NAME}Targets.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti COMPONENT ${arg_NAME}-dev)
  foreach(header IN LISTS arg_HEADERS)
    if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${header})
      install(DIRECTORY ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${arg_NAME}-dev)
    else()
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${arg_NAME}-dev)
    endif()
  endforeach()
  file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  list(TRANSFORM TUTTI_NEEDS REPLACE "^([^/]+)$" "-l\\1" OUTPUT_VARIABLE needs)
  string(JOIN " " needs ${needs})
  if(TUTTI_STATIC AND arg_LIBS)
    set(needs "-ltutti ${needs}")
  endif()
  set(${arg_NAME}_needs ${needs} PARENT_SCOPE)
  configure_file(${arg_NAME}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${arg_NAME}-dev)
endfunction()
