#include "io/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"

namespace syrinx {
namespace {

using nlohmann::json;

/// Returns the message of a parser's exception without the library's name and error number.
std::string fault_text(const json::exception& error) {
  std::string_view what = error.what();
  if (const size_t end = what.find("] ");
      what.starts_with("[json.exception.") && end != what.npos) {
    what.remove_prefix(end + 2);
  }
  return shown(std::string(what), 200);
}

/// Parses `text`; deep nesting and repeated keys are faults.
json parse_checked(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> open;  // keys seen in each open object
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > Config::kMaxDepth)
      load_fault(path, "", concat("nested more than ", Config::kMaxDepth, " deep"));
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key &&
        !open.back().insert(parsed.get_ref<const std::string&>()).second)
      load_fault(path, shown(parsed.get_ref<const std::string&>()), "is given twice");
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& error) {
    load_fault(path, "", concat("invalid JSON: ", fault_text(error)));
  }
}

std::string list_key(const std::string& key, size_t index) { return concat(key, "[", index, "]"); }

}  // namespace

Config::Config(std::shared_ptr<const Json> root, const Json* node, std::string file,
               std::string scope)
    : root_(std::move(root)), node_(node), file_(std::move(file)), scope_(std::move(scope)) {}

Config Config::load(const std::string& path) { return parse(read_file(path, kMaxBytes), path); }

Config Config::parse(const std::string& text, const std::string& path) {
  if (text.size() > kMaxBytes)
    load_fault(path, "", concat("expected at most ", kMaxBytes, " bytes, got ", text.size()));
  auto root = std::make_shared<const Json>(parse_checked(text, path));
  if (!root->is_object())
    load_fault(path, "", concat("expected an object, got ", root->type_name()));
  const Json* node = root.get();
  return Config(std::move(root), node, path, "");
}

std::string Config::where(const std::string& key) const {
  const std::string name = scope_ + key;
  return name.empty() ? file_ : file_ + ": " + shown(name);
}

void Config::fail(const std::string& key, const std::string& what) const {
  throw LoadError(where(key) + ": " + what);
}

void Config::check(const std::string& key, bool fine, const std::string& what) const {
  if (!fine) fail(key, what);
}

void Config::only(const std::string& key, bool fine, const std::string& what) const {
  check(key, fine, "only " + what + " is supported");
}

void Config::only(const std::string& key, const std::string& want) const {
  const std::string got = opt_s(key, want);
  check(key, got == want, concat("only ", want, " is supported, got ", shown(got)));
}

void Config::only_i(const std::string& key, int64_t want) const {
  const auto got = opt_i(key, want, std::numeric_limits<int64_t>::min());
  check(key, got == want, concat("only ", want, " is supported, got ", got));
}

void Config::same(const std::string& key, int64_t want, const std::string& whose) const {
  const auto got = opt_i(key, want);
  check(key, got == want, concat("expected ", whose, ", ", want, ", got ", got));
}

void Config::wrong(const std::string& key, const std::string& want, const Json& got) const {
  std::string text = got.type_name();
  if (!got.is_structured())
    text = shown(got.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
  fail(key, "expected " + want + ", got " + text);
}

const Config::Json* Config::find(const std::string& key) const {
  const auto found = node_->find(key);
  return found == node_->end() || found->is_null() ? nullptr : &*found;
}

const Config::Json& Config::get(const std::string& key, const char* want) const {
  const Json* value = find(key);
  if (!value) fail(key, std::string("is missing; expected ") + want);
  return *value;
}

bool Config::has(const std::string& key) const { return find(key) != nullptr; }

std::vector<std::string> Config::keys() const {
  std::vector<std::string> keys;
  for (const auto& item : node_->items()) keys.push_back(item.key());
  return keys;
}

int64_t Config::as_int(const std::string& key, const Json& value, int64_t min, int64_t max) const {
  const std::string want = concat("an integer in [", min, ", ", max, "]");
  int64_t number = 0;
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() > static_cast<uint64_t>(kMaxInt)) wrong(key, want, value);
    number = value.get<int64_t>();
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else if (value.is_number_float()) {
    const double real = value.get<double>();
    if (!(std::fabs(real) <= 0x1p53) || real != std::floor(real)) wrong(key, want, value);
    number = static_cast<int64_t>(real);
  } else {
    wrong(key, want, value);
  }
  if (number < min || number > max) wrong(key, want, value);
  return number;
}

double Config::as_float(const std::string& key, const Json& value, double min, double max) const {
  const bool bounded = min > -kMaxFloat || max < kMaxFloat;
  const std::string want = bounded ? concat("a number in [", min, ", ", max, "]") : "a number";
  if (!value.is_number()) wrong(key, want, value);
  const double number = value.get<double>();
  if (!(number >= min && number <= max)) wrong(key, want, value);
  return number;
}

std::string Config::as_string(const std::string& key, const Json& value) const {
  if (!value.is_string()) wrong(key, "a string", value);
  return value.get<std::string>();
}

Config Config::as_sub(const std::string& key, const Json& value) const {
  if (!value.is_object()) wrong(key, "an object", value);
  return Config(root_, &value, file_, scope_ + key + ".");
}

int64_t Config::integer(const std::string& key, int64_t min, int64_t max) const {
  return as_int(key, get(key, "an integer"), min, max);
}

double Config::number(const std::string& key, double min, double max) const {
  return as_float(key, get(key, "a number"), min, max);
}

std::string Config::s(const std::string& key) const { return as_string(key, get(key, "a string")); }

bool Config::b(const std::string& key) const {
  const Json& value = get(key, "true or false");
  if (!value.is_boolean()) wrong(key, "true or false", value);
  return value.get<bool>();
}

Config Config::sub(const std::string& key) const { return as_sub(key, get(key, "an object")); }

std::string Config::opt_s(const std::string& key, const std::string& absent) const {
  return has(key) ? s(key) : absent;
}

bool Config::opt_b(const std::string& key, bool absent) const { return has(key) ? b(key) : absent; }

std::optional<Config> Config::opt_sub(const std::string& key) const {
  if (!has(key)) return {};
  return sub(key);
}

const Config::Json& Config::list(const std::string& key) const {
  const Json& value = get(key, "a list");
  if (!value.is_array()) wrong(key, "a list", value);
  if (value.size() > kMaxList)
    fail(key, concat("expected at most ", kMaxList, " items, got ", value.size()));
  return value;
}

std::vector<int64_t> Config::ints(const std::string& key, int64_t min, int64_t max) const {
  std::vector<int64_t> out;
  for (const Json& item : list(key))
    out.push_back(as_int(list_key(key, out.size()), item, min, max));
  return out;
}

std::vector<double> Config::floats(const std::string& key) const {
  std::vector<double> out;
  for (const Json& item : list(key))
    out.push_back(as_float(list_key(key, out.size()), item, -kMaxFloat, kMaxFloat));
  return out;
}

std::vector<std::string> Config::strings(const std::string& key) const {
  std::vector<std::string> out;
  for (const Json& item : list(key)) out.push_back(as_string(list_key(key, out.size()), item));
  return out;
}

std::vector<Config> Config::subs(const std::string& key) const {
  std::vector<Config> out;
  for (const Json& item : list(key)) out.push_back(as_sub(list_key(key, out.size()), item));
  return out;
}

std::map<std::string, int64_t> Config::map_i(const std::string& key, int64_t min,
                                             int64_t max) const {
  const Config map = sub(key);
  if (map.node_->size() > kMaxList) fail(key, concat("expected at most ", kMaxList, " entries"));
  std::map<std::string, int64_t> out;
  for (const auto& [name, value] : map.node_->items())
    out[name] = map.as_int(name, value, min, max);
  return out;
}

std::map<std::string, std::string> Config::map_s(const std::string& key) const {
  const Config map = sub(key);
  if (map.node_->size() > kMaxList) fail(key, concat("expected at most ", kMaxList, " entries"));
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : map.node_->items()) out[name] = map.as_string(name, value);
  return out;
}

}  // namespace syrinx
