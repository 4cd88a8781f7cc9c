// Reading what clients send: JSON messages, queries, vendors' names. Nothing throws, whatever the
// bytes. Free functions and plain data; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pipeline.h"
#include "text/surrogates.h"

namespace syrinx {

using JsonIn = nlohmann::json;           ///< of clients: many keys must not take long
using JsonOut = nlohmann::ordered_json;  ///< for clients: in the order of writing

/// A JSON object nested at most 32 deep, or nothing. `lone`: what a half of a character in its
/// strings becomes; marks are for texts whose other half may come with the next message.
std::optional<JsonIn> parse_object(std::string_view bytes, LoneHalf lone = LoneHalf::kReplace);
/// One line; bytes that are no UTF-8 are replaced.
std::string dump_json(const JsonIn& json);
std::string dump_json(const JsonOut& json);

/// The string at `name`; nothing when it is absent, null or of another type.
std::optional<std::string> string_at(const JsonIn& object, const char* name);
/// The same for a number and a yes or no.
std::optional<double> number_at(const JsonIn& object, const char* name);
bool true_at(const JsonIn& object, const char* name);

/// Parameters of a query, decoded; the first of each name, at most 64.
class Query {
 public:
  explicit Query(std::string_view query);
  std::optional<std::string> find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};
/// "%20" and "+" are spaces; anything malformed stays as it is.
std::string url_decode(std::string_view text);
/// The same of a path, where "+" is a plus.
std::string percent_decoded(std::string_view text);

/// "pcm_24000", "mp3_44100_128", "ulaw_8000", ... into response_format, encoding and sample_rate of
/// `fields`; false when there is no such format.
bool parse_output_format(std::string_view name, JsonIn& fields);

/// Whether `name` means the model of this connection: its own name or the last part of it, nothing,
/// or a vendor's name.
bool names_model(const PipelineInfo& info, std::string_view name);

}  // namespace syrinx
