// Jinja's filters that sort and split lists; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_sort(Budget& budget, const Value& value, const Arguments& given);
/// Returns the pairs of a mapping, sorted by key or value.
Value filter_dictsort(Budget& budget, const Value& value, const Arguments& given);
/// Returns the items; of equal items, only the first remains.
Value filter_unique(Budget& budget, const Value& value, const Arguments& given);
/// Groups items by an attribute. Returns pairs of the attribute and its items, sorted by attribute.
Value filter_groupby(Budget& budget, const Value& value, const Arguments& given);
/// Splits items into lists of the given length; a given value may fill up the last list.
Value filter_batch(Budget& budget, const Value& value, const Arguments& given);
/// Splits items into the given number of lists of about the same length. The first lists are the
/// longer ones; a given value may fill up the shorter lists.
Value filter_slice(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
