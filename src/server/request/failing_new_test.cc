// Gives this test program an operator new that fails on demand.
#include "engine/failing_new_test.cc"
