// Jinja's filters that sort and split lists; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_sort(Budget& budget, const Value& value, const Arguments& given);
/// Returns the pairs of a mapping, sorted by key or value.
Value filter_dictsort(Budget& budget, const Value& value, const Arguments& given);
/// Returns the items without later equal ones.
Value filter_unique(Budget& budget, const Value& value, const Arguments& given);
/// Returns pairs of a key and its items, sorted by key.
Value filter_groupby(Budget& budget, const Value& value, const Arguments& given);
/// Splits items into lists of the given length; the last one may be filled up.
Value filter_batch(Budget& budget, const Value& value, const Arguments& given);
/// Splits items into the given number of lists of about the same length, the longer ones first; the
/// others may be filled up.
Value filter_slice(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
