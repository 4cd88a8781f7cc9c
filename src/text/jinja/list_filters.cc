#include "text/jinja/list_filters.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "text/jinja/access.h"
#include "text/jinja/operations.h"

namespace syrinx::jinja {
namespace {

/// Returns the key to sort by. Unless `case_sensitive`, the key ignores the case of texts.
Value sort_key(const Value& value, bool case_sensitive) {
  return value.is_text() && !case_sensitive ? Value(lower(value.text())) : value;
}

bool flag_of(const Arguments& given, size_t index, std::string_view name) {
  const Value* value = given.get(index, name);
  return value != nullptr && truth(*value);
}

/// Sorts values by their keys. Values with equal keys keep their order.
std::vector<Value> sorted(Budget& budget, std::vector<std::pair<Value, Value>> keyed,
                          bool reverse) {
  budget.spend(8 * keyed.size());
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    const int order = compare(a.first, b.first, budget);
    return reverse ? order > 0 : order < 0;
  });
  std::vector<Value> out;
  for (auto& [key, value] : keyed) out.push_back(std::move(value));
  return out;
}

}  // namespace

Value filter_sort(Budget& budget, const Value& value, const Arguments& given) {
  given.check("sort", 3, {"reverse", "case_sensitive", "attribute"});
  const bool exact = flag_of(given, 1, "case_sensitive");
  const Value* path = given.get(2, "attribute");
  std::vector<std::pair<Value, Value>> keyed;
  const auto list = iterate(value, budget);  // keeps the list alive during the loop
  for (const Value& item : list->items)
    keyed.emplace_back(sort_key(path ? down(budget, item, *path) : item, exact), item);
  return paid_list(budget, sorted(budget, std::move(keyed), flag_of(given, 0, "reverse")));
}

Value filter_dictsort(Budget& budget, const Value& value, const Arguments& given) {
  given.check("dictsort", 3, {"case_sensitive", "by", "reverse"});
  if (!value.is_map()) throw Fault(concat("'dictsort' takes a dict, not ", value.kind()));
  const bool exact = flag_of(given, 0, "case_sensitive");
  const Value* by = given.get(1, "by");
  const bool by_value = by != nullptr && by->is_text() && by->text() == "value";
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items_of(budget, value.map()))
    keyed.emplace_back(sort_key(item.items()[by_value ? 1 : 0], exact), std::move(item));
  return paid_list(budget, sorted(budget, std::move(keyed), flag_of(given, 2, "reverse")));
}

Value filter_unique(Budget& budget, const Value& value, const Arguments& given) {
  given.check("unique", 2, {"case_sensitive", "attribute"});
  const bool exact = flag_of(given, 0, "case_sensitive");
  const Value* path = given.get(1, "attribute");
  std::vector<Value> keys, out;
  const auto list = iterate(value, budget);  // keeps the list alive during the loop
  for (const Value& item : list->items) {
    const Value key = sort_key(path ? down(budget, item, *path) : item, exact);
    const bool known = std::any_of(keys.begin(), keys.end(),
                                   [&](const Value& other) { return equal(key, other, budget); });
    if (known) continue;
    keys.push_back(key);
    out.push_back(item);
  }
  return paid_list(budget, std::move(out));
}

Value filter_groupby(Budget& budget, const Value& value, const Arguments& given) {
  given.check("groupby", 3, {"attribute", "default", "case_sensitive"});
  const Value *path = given.get(0, "attribute"), *absent = given.get(1, "default");
  if (path == nullptr) throw Fault("'groupby' lacks an attribute");
  const bool exact = flag_of(given, 2, "case_sensitive");
  const auto key_of = [&](const Value& item) { return down(budget, item, *path, absent); };
  std::vector<std::pair<Value, Value>> keyed;
  const auto list = iterate(value, budget);  // keeps the list alive during the loop
  for (const Value& item : list->items) keyed.emplace_back(sort_key(key_of(item), exact), item);
  const std::vector<Value> items = sorted(budget, std::move(keyed), false);
  std::vector<Value> groups, group;
  for (size_t i = 0; i < items.size(); ++i) {
    group.push_back(items[i]);
    const auto key = [&](size_t at) { return sort_key(key_of(items[at]), exact); };
    if (i + 1 < items.size() && equal(key(i), key(i + 1), budget)) continue;
    // The name of the group is the key of its first item, with the spelling of this item.
    Value name = key_of(group.front());
    groups.push_back(make_group(std::move(name), paid_list(budget, std::exchange(group, {}))));
  }
  return paid_list(budget, std::move(groups));
}

Value filter_batch(Budget& budget, const Value& value, const Arguments& given) {
  given.check("batch", 2, {"linecount", "fill_with"});
  const Value *count = given.get(0, "linecount"), *fill = given.get(1, "fill_with");
  const int64_t most = count != nullptr ? want_int(*count, "batch") : 0;
  if (most < 1) throw Fault("'batch' takes a count of at least 1");
  std::vector<Value> lists, line;
  const auto list = iterate(value, budget);  // keeps the list alive during the loop
  for (const Value& item : list->items) {
    line.push_back(item);
    if (std::ssize(line) == most) lists.push_back(paid_list(budget, std::exchange(line, {})));
  }
  const bool filled = fill != nullptr && !fill->is_none();
  while (filled && !line.empty() && std::ssize(line) < most) budget.spend(1), line.push_back(*fill);
  if (!line.empty()) lists.push_back(paid_list(budget, std::move(line)));
  return paid_list(budget, std::move(lists));
}

Value filter_slice(Budget& budget, const Value& value, const Arguments& given) {
  given.check("slice", 2, {"slices", "fill_with"});
  const Value *count = given.get(0, "slices"), *fill = given.get(1, "fill_with");
  const int64_t slices = count != nullptr ? want_int(*count, "slice") : 0;
  if (slices < 1) throw Fault("'slice' takes a count of at least 1");
  const auto list = iterate(value, budget);
  const int64_t each = std::ssize(list->items) / slices, longer = std::ssize(list->items) % slices;
  std::vector<Value> lists;
  auto at = list->items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    const auto end = at + each + (i < longer ? 1 : 0);
    std::vector<Value> items(at, end);
    at = end;
    if (i >= longer && fill != nullptr && !fill->is_none()) items.push_back(*fill);
    lists.push_back(paid_list(budget, std::move(items)));
  }
  return paid_list(budget, std::move(lists));
}

}  // namespace syrinx::jinja
