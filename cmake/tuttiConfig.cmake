# find_package(tutti) gives the target tutti::tutti. The library needs nothing else to link against.
include("${CMAKE_CURRENT_LIST_DIR}/tuttiTargets.cmake")
