#include "server/request/option_fields.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "server/request/service_tier.h"

namespace syrinx {
namespace {

template <typename T>
void take(T& to, const auto& from) {
  if (from) to = static_cast<T>(*from);
}

/// Reads the field of one option into the request.
template <typename Json>
class OptionReader {
 public:
  OptionReader(const ObjectFields<Json>& fields, const RequestOption& option)
      : fields_(fields), option_(option) {}

  void read(float& to) const { take(to, number()); }
  void read(std::optional<float>& to) const {
    if (const auto value = number()) to = static_cast<float>(*value);
  }
  void read(int& to) const { take(to, integer()); }
  void read(std::optional<int>& to) const {
    if (const auto value = integer()) to = *value;
  }
  void read(std::optional<bool>& to) const {
    if (const auto value = fields_.flag(option_.name)) to = *value;
  }
  /// As for other servers, -1 means "not set", e.g. a random seed.
  void read(uint64_t& to) const { take(to, fields_.bits_or_minus_one(option_.name)); }
  void read(std::string& to) const {
    if (auto value = fields_.text(option_.name)) to = std::move(*value);
  }
  void read(FlowMode& to) const {
    const auto name = fields_.choice(option_.name, flow_names());
    if (!name) return;
    const auto at = std::find(flow_names().begin(), flow_names().end(), *name);
    to = static_cast<FlowMode>(at - flow_names().begin());
  }

 private:
  std::optional<double> number() const {
    return fields_.number(option_.name, option_.bounds.low, option_.bounds.high);
  }
  std::optional<int> integer() const {
    const int64_t low = option_.minus_one_is_off ? -1 : static_cast<int64_t>(option_.bounds.low);
    const auto value =
        fields_.integer(option_.name, low, static_cast<int64_t>(option_.bounds.high));
    if (!value) return {};
    return option_.minus_one_is_off && *value == -1 ? 0 : static_cast<int>(*value);
  }
  const ObjectFields<Json>& fields_;
  const RequestOption& option_;
};

}  // namespace

template <typename Json>
void read_options(const ObjectFields<Json>& fields, RequestBody body, SpeechRequest& request) {
  for (const RequestOption& option : request_options()) {
    if ((option.bodies & body) == 0 || option.own_reader) continue;
    const OptionReader<Json> reader(fields, option);
    std::visit([&](auto field) { reader.read(field(request)); }, option.field);
  }
  if (const auto tier = fields.text("service_tier")) {
    const auto background = in_background(*tier);
    if (!background) fields.refuse("service_tier", kServiceTiers);
    request.terms.background = *background;
  }
}

template void read_options(const JsonFields&, RequestBody, SpeechRequest&);
template void read_options(const ChatFields&, RequestBody, SpeechRequest&);

uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) >> 11;
}

}  // namespace syrinx
