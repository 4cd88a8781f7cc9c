// libflite's headers declare C functions without extern "C"; this header adds it. It includes the
// system headers that they need first, so that these are not inside extern "C".
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
