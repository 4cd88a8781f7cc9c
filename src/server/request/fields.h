// Reads what clients send: JSON messages, queries, vendors' names. Never throws, for any bytes.
// Free functions and plain data; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pipeline.h"
#include "text/surrogates.h"

namespace syrinx {

using JsonIn = nlohmann::json;           ///< for input: fast, even with many keys
using JsonOut = nlohmann::ordered_json;  ///< for output: keeps the order of keys

/// Parses a JSON object nested at most 32 deep; returns nothing for other bytes. `lone`: the
/// replacement for half of a surrogate pair in a string; kMark is for texts whose other half may be
/// in the next message.
std::optional<JsonIn> parse_object(std::string_view bytes, LoneHalf lone = LoneHalf::kReplace);
/// Returns one line; replaces invalid UTF-8.
std::string dump_json(const JsonIn& json);
std::string dump_json(const JsonOut& json);

/// Returns the string in field `name`; nothing if the field is absent, null or of another type.
std::optional<std::string> string_at(const JsonIn& object, const char* name);
/// Return the number or boolean in field `name`; nothing as for string_at().
std::optional<double> number_at(const JsonIn& object, const char* name);
bool true_at(const JsonIn& object, const char* name);

/// The decoded parameters of a query, at most 64; if a name occurs again, the first one counts.
class Query {
 public:
  explicit Query(std::string_view query);
  std::optional<std::string> find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};
/// Decodes "%20" and "+" as spaces; leaves malformed escapes as they are.
std::string url_decode(std::string_view text);
/// Decodes a path, in which "+" is not a space.
std::string percent_decoded(std::string_view text);

/// Splits "pcm_24000", "mp3_44100_128", "ulaw_8000", ... into response_format, encoding and
/// sample_rate of `fields`; returns false for an unknown format.
bool parse_output_format(std::string_view name, JsonIn& fields);

/// Returns whether `name` means the model of this connection: an empty name, its name, the last
/// part of its name, or a vendor's name.
bool names_model(const PipelineInfo& info, std::string_view name);

}  // namespace syrinx
