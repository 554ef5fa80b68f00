# find_package(tutti) gives the targets tutti::tutti and, where BSPlib is installed, tutti::bsp.
include("${CMAKE_CURRENT_LIST_DIR}/tuttiTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tutti_bspTargets.cmake" OPTIONAL RESULT_VARIABLE tutti_bsp_FOUND)
# <tutti.hpp> is for C++20. A project in C alone knows no such feature.
get_property(tutti_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(CXX IN_LIST tutti_languages)
  target_compile_features(tutti::tutti INTERFACE cxx_std_20)
endif()
foreach(component IN LISTS tutti_FIND_COMPONENTS)
  if(NOT tutti_${component}_FOUND AND tutti_FIND_REQUIRED_${component})
    set(tutti_FOUND FALSE)
    set(tutti_NOT_FOUND_MESSAGE "tutti has no component ${component} here")
  endif()
endforeach()
