// The operator new of this test program, which fails on demand.
#include "engine/failing_new_test.cc"
