// Filters of numbers and of texts to be shown, as Jinja has them; for the table in filters.cc.
#pragma once

#include "text/jinja/calls.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

Value filter_max(Budget& budget, const Value& value, const Arguments& given);
Value filter_min(Budget& budget, const Value& value, const Arguments& given);
Value filter_sum(Budget& budget, const Value& value, const Arguments& given);
Value filter_round(Budget& budget, const Value& value, const Arguments& given);
Value filter_truncate(Budget& budget, const Value& value, const Arguments& given);
Value filter_wordcount(Budget& budget, const Value& value, const Arguments& given);
Value filter_escape(Budget& budget, const Value& value, const Arguments& given);
Value filter_format(Budget& budget, const Value& value, const Arguments& given);
Value filter_center(Budget& budget, const Value& value, const Arguments& given);

}  // namespace syrinx::jinja
