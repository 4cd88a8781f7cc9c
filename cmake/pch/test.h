// A further header of all tests.
#pragma once

#include <gtest/gtest.h>

#include "library.h"
