// Jinja's filters of numbers and of texts for output; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_max(Budget& budget, const Value& value, const Arguments& given);
/// Returns the smallest item; undefined for an empty list.
Value filter_min(Budget& budget, const Value& value, const Arguments& given);
/// Returns `start` plus the sum of the items, or of an attribute of the items.
Value filter_sum(Budget& budget, const Value& value, const Arguments& given);
/// Rounds to `precision` digits with the method common, ceil or floor.
Value filter_round(Budget& budget, const Value& value, const Arguments& given);
/// Returns the beginning of a text, cut at a word unless `killwords`.
Value filter_truncate(Budget& budget, const Value& value, const Arguments& given);
/// Returns the number of words.
Value filter_wordcount(Budget& budget, const Value& value, const Arguments& given);
/// Replaces & < > ' " by HTML entities.
Value filter_escape(Budget& budget, const Value& value, const Arguments& given);
/// Computes Python's % formatting of a text.
Value filter_format(Budget& budget, const Value& value, const Arguments& given);
/// Centres the text within `width` characters.
Value filter_center(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
