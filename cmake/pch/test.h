// What tests read besides.
#pragma once

#include <gtest/gtest.h>

#include "library.h"
