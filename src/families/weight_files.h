// The name that families include until they include loading/checkpoint.h themselves.
#pragma once

#include "families/loading/checkpoint.h"
