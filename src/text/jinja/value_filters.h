// Filters of numbers and of texts to be shown, as Jinja has them; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_max(Budget& budget, const Value& value, const Arguments& given);
/// The smallest item; undefined for none.
Value filter_min(Budget& budget, const Value& value, const Arguments& given);
/// The sum of the items, or of their attribute, from `start`.
Value filter_sum(Budget& budget, const Value& value, const Arguments& given);
/// Rounds to `precision` digits: common, ceil or floor.
Value filter_round(Budget& budget, const Value& value, const Arguments& given);
/// The beginning of a text, at a word unless `killwords`.
Value filter_truncate(Budget& budget, const Value& value, const Arguments& given);
/// The number of words.
Value filter_wordcount(Budget& budget, const Value& value, const Arguments& given);
/// & < > ' " as HTML entities.
Value filter_escape(Budget& budget, const Value& value, const Arguments& given);
/// Python's % formatting of a text.
Value filter_format(Budget& budget, const Value& value, const Arguments& given);
/// The text in the middle of `width` characters.
Value filter_center(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
