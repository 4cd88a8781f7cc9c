// This program's operator new, which fails on demand.
#include "engine/failing_new_test.cc"
