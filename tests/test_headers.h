// What most tests include, compiled once (cmake/precompiled.cmake). Each source still names all that it uses.
#pragma once
#include <boost/test/unit_test.hpp>

#include "cmake/standard_headers.h"
