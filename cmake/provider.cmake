# tutti_provider(NAME SOURCES ... LIBS ...): the provider NAME, whose object is NAME_provider, as a loadable module
# tutti_NAME.so; or linked into the library, with TUTTI_STATIC_PROVIDERS. Nothing outside it may need what LIBS names, and
# it needs nothing of the library but headers, tutti_base and what LIBS names of tutti's. Its objects are a target of their
# own, tutti_NAME_objects, so that a test can link them in without compiling them again.
function(tutti_provider name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  set(target tutti_${name})
  set(objects ${target}_objects)
  add_library(${objects} OBJECT ${arg_SOURCES})
  target_link_libraries(${objects} PRIVATE ${arg_LIBS} tutti_base)
  tutti_precompiled(tutti_base ${objects})
  if(TUTTI_STATIC_PROVIDERS)
    add_library(${target} STATIC $<TARGET_OBJECTS:${objects}>)
    target_link_libraries(tutti_core PRIVATE ${target})
  else()
    add_library(${target} MODULE $<TARGET_OBJECTS:${objects}> ${CMAKE_SOURCE_DIR}/providers/module_entry/entry.cpp)
    target_compile_definitions(${target} PRIVATE TUTTI_MODULE_PROVIDER=${name}_provider)
    set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tutti)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tutti)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBS} tutti_base)
endfunction()
