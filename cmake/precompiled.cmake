# With TUTTI_PRECOMPILE (the presets release, asan and tsan), the standard library's headers are compiled once, and Boost.Test's for
# the tests: parsing them is half of what a small source takes. The preset coverage, of the whole list, goes without, so that a
# source which forgets an include is found there.

# GCC 12 sees more overlaps that are not there in precompiled headers (GCC bug 105651).
set(tutti_false_warnings $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds>)

# tutti_precompiles(OWNER HEADER...): OWNER compiles the headers.
function(tutti_precompiles owner)
  if(TUTTI_PRECOMPILE)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${owner} PRIVATE ${ARGN})
    target_compile_options(${owner} PRIVATE ${tutti_false_warnings})
  endif()
endfunction()

# tutti_precompiled(OWNER TARGET...): these use them. Executables are then compiled as libraries are, -fPIC, since GCC takes
# no precompiled header of another kind of code.
function(tutti_precompiled owner)
  if(NOT TUTTI_PRECOMPILE)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    target_compile_options(${target} PRIVATE ${tutti_false_warnings})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endforeach()
endfunction()

# tutti_together(TARGET): with TUTTI_PRECOMPILE, six sources are compiled at a time, since what they include weighs more than they do.
# Sources whose unnamed namespaces share names are marked SKIP_UNITY_BUILD_INCLUSION. GCC warns that a frame of a coroutine has
# a member of a type from an unnamed namespace, when that is not in the main file: each is in one such file alone.
# Clang also calls the names of another source's unnamed namespace shadowed.
function(tutti_together target)
  if(TUTTI_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                                             $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
  endif()
endfunction()

# tutti_grouped(PREFIX SIZE SOURCE...): of a target with UNITY_BUILD_MODE GROUP, SIZE sources at a time get one group's name each.
function(tutti_grouped prefix size)
  set(at 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${at} / ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${prefix}${group})
    math(EXPR at "${at} + 1")
  endforeach()
endfunction()
