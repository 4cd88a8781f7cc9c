#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "text/jinja/value.h"
#include "text/surrogates.h"

namespace syrinx::jinja {
namespace {

/// Builds a Value from the parser's events, because events keep the order of keys.
class ValueBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit ValueBuilder(size_t max_values) : left_(max_values) {}
  Result<Value> result() {
    if (!fault_.empty()) return Error{ErrorCode::kInvalid, fault_};
    return std::move(root_);
  }

  bool null() override { return add(None{}); }
  bool boolean(bool flag) override { return add(flag); }
  bool number_integer(number_integer_t number) override { return add(int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return add(static_cast<double>(number));
    return add(static_cast<int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t&) override { return add(number); }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t&) override { return fail("binary data is not supported"); }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(string_t& key) override {
    stack_.back().key = std::move(key);
    return true;
  }
  bool end_object() override {
    Map map = std::move(stack_.back().map);
    stack_.pop_back();
    return add(make_map(std::move(map)));
  }
  bool end_array() override {
    std::vector<Value> items = std::move(stack_.back().items);
    stack_.pop_back();
    return add(make_list(std::move(items)));
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return fail(concat("is not valid JSON near byte ", at));
  }

 private:
  struct Open {
    bool object;
    std::string key = {};
    Map map = {};
    std::vector<Value> items = {};
  };

  bool open(bool object) {
    if (stack_.size() >= kMaxDepth / 2)
      return fail(concat("is nested more than ", kMaxDepth / 2, " deep"));
    stack_.push_back({object});
    return true;
  }
  bool add(Value value) {
    if (left_ == 0) return fail("has too many values");
    --left_;
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().object) {
      stack_.back().map.set(std::move(stack_.back().key), std::move(value));
    } else {
      stack_.back().items.push_back(std::move(value));
    }
    return true;
  }
  bool fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
    return false;
  }

  size_t left_;
  std::vector<Open> stack_;
  Value root_;
  std::string fault_;
};

}  // namespace

Result<Value> parse_json(std::string_view text, size_t max_values) {
  const std::optional<std::string> mended = mend_halves(text);
  if (mended) text = *mended;
  ValueBuilder builder(max_values);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.result();
}

}  // namespace syrinx::jinja
