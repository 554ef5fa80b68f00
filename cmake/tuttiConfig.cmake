# find_package(tutti) gives the targets tutti::tutti and, where BSPlib is installed, tutti::bsp.
include("${CMAKE_CURRENT_LIST_DIR}/tuttiTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tutti_bspTargets.cmake" OPTIONAL RESULT_VARIABLE tutti_bsp_FOUND)
foreach(component IN LISTS tutti_FIND_COMPONENTS)
  if(NOT tutti_${component}_FOUND AND tutti_FIND_REQUIRED_${component})
    set(tutti_FOUND FALSE)
    set(tutti_NOT_FOUND_MESSAGE "tutti has no component ${component} here")
  endif()
endforeach()
