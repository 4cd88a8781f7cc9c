#include "cli/files/request_fields.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "cli/line/exit.h"
#include "model/options.h"

namespace syrinx {

std::string request_fields(const SpeechRequest& request, const std::string& extra, bool with_seed) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  if (!extra.empty()) {
    fields = nlohmann::ordered_json::parse(extra, nullptr, false);
    if (!fields.is_object()) throw UsageError("--extra must be a JSON object");
  }
  for_set_options(request, [&](const RequestOption& option, const auto& value) {
    if (option.name == "seed" && !with_seed) return;
    if ((option.bodies & kSpeechBody) == 0) {
      throw UsageError(concat(option.argument, " cannot be sent to a server; leave it out"));
    }
    const std::string name(option.name);
    if (fields.contains(name)) {
      throw UsageError(concat("--extra has '", name, "', which is also set by ",
                              option.argument.substr(option.argument.rfind('-') - 1)));
    }
    fields[name] = value;
  });
  // A server draws a random seed if a request has none.
  if (with_seed && !fields.contains("seed")) fields["seed"] = request.sampling.seed;
  return fields.empty() ? "" : fields.dump();
}

}  // namespace syrinx
