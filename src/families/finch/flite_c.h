// Adds extern "C" around libflite's headers, which lack it. First includes the system headers that
// they need, so that these are not inside extern "C". On Windows they redefine snprintf.
#pragma once

#include <cctype>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <flite/cst_cg.h>
#include <flite/flite.h>
}
#undef snprintf
