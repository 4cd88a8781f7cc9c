// Filters that order and part lists, as Jinja has them; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_sort(Budget& budget, const Value& value, const Arguments& given);
/// Pairs of a mapping, sorted by key or value.
Value filter_dictsort(Budget& budget, const Value& value, const Arguments& given);
/// Items without later equal ones.
Value filter_unique(Budget& budget, const Value& value, const Arguments& given);
/// Pairs of a key and its items, sorted by key.
Value filter_groupby(Budget& budget, const Value& value, const Arguments& given);
/// Lists of the given number of items; the last may be filled up.
Value filter_batch(Budget& budget, const Value& value, const Arguments& given);
/// So many lists of about the same size, the longer ones first; the others may be filled up.
Value filter_slice(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
