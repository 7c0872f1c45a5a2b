// What most tests include, read once for all of them; see library.hpp.
#pragma once

#include <gtest/gtest.h>

#include "library.hpp"
