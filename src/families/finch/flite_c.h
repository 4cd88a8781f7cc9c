// libflite's headers declare C functions without saying so; this header says it for them. The
// system headers that they pull in come first, so that none of those lands inside extern "C".
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
