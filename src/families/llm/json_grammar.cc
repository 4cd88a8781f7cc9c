#include "families/llm/json_grammar.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"

namespace syrinx::llm {
namespace {

using jinja::Map;
using jinja::Value;
using Node = JsonGrammar::Node;

constexpr size_t kMostNodes = 4096, kMostKeys = 64, kMostLiterals = 4096;
constexpr int kMostSchemaDepth = 32;
// Limit of consecutive blanks; without it a model might write blanks forever.
constexpr uint8_t kMostBlanks = 32;
constexpr uint8_t kMostDigits = 18;  // digits of a number, so that an integer fits 64 bits

/// Schema keywords that do not restrict the valid texts.
constexpr std::string_view kAnnotations[] = {"$comment", "$defs",       "$id",        "$schema",
                                             "default",  "definitions", "deprecated", "description",
                                             "example",  "examples",    "format",     "readOnly",
                                             "strict",   "title",       "writeOnly"};

Node any_value() {
  Node node;
  node.string = node.number = node.object = node.array = true;
  node.literals = {"false", "null", "true"};
  node.others = 0;
  return node;
}

Error bad_schema(std::string message) {
  return {ErrorCode::kUnsupported, std::move(message), "response_format"};
}

std::string json_text(const Value& value) {
  jinja::Budget budget(std::numeric_limits<uint64_t>::max());
  return to_json(value, {}, budget);
}

/// Makes nodes from schemas. Throws an Error for the first unsupported part.
class SchemaReader {
 public:
  explicit SchemaReader(const Value& root) : root_(root) { nodes_.push_back(any_value()); }

  int add(const Value& schema, int depth = 0) {
    Node node = read(schema, depth);
    if (nodes_.size() >= kMostNodes) throw bad_schema("the schema is too large");
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  std::vector<Node> take() { return std::move(nodes_); }

 private:
  Node read(const Value& schema, int depth) {
    if (depth > kMostSchemaDepth) throw bad_schema("the schema is nested too deeply");
    if (schema.is_bool() && schema.flag()) return any_value();
    if (!schema.is_map()) throw bad_schema("a schema must be an object");
    const Map& map = schema.map();
    check_keywords(map);
    if (const Value* ref = map.find("$ref")) return read_ref(*ref, depth);
    for (const char* name : {"anyOf", "oneOf", "allOf"})
      if (const Value* some = map.find(name)) return read_some(name, *some, depth);
    if (const Value* one = map.find("const")) return read_literals({*one}, "const");
    if (const Value* some = map.find("enum")) {
      if (!some->is_list()) throw bad_schema("'enum' of the schema must be an array");
      return read_literals(some->items(), "enum");
    }
    return read_types(map, depth);
  }

  static void check_keywords(const Map& map) {
    static constexpr std::string_view kKnown[] = {"$ref",       "additionalProperties",
                                                  "allOf",      "anyOf",
                                                  "const",      "enum",
                                                  "items",      "maxItems",
                                                  "minItems",   "oneOf",
                                                  "properties", "required",
                                                  "type"};
    for (const auto& [key, value] : map.entries()) {
      const auto is_key = [name = std::string_view(key)](std::string_view known) {
        return known == name;
      };
      if (std::any_of(std::begin(kKnown), std::end(kKnown), is_key) ||
          std::any_of(std::begin(kAnnotations), std::end(kAnnotations), is_key))
        continue;
      throw bad_schema(concat("the schema keyword '", key.substr(0, 100), "' is not supported"));
    }
  }

  Node read_ref(const Value& ref, int depth) {
    if (!ref.is_text() || !ref.text().starts_with("#/"))
      throw bad_schema("the schema's '$ref' must begin with '#/'");
    const Value* at = &root_;
    std::string_view path = std::string_view(ref.text()).substr(2);
    for (bool more = true; more;) {
      const size_t cut = path.find('/');
      at = at->is_map() ? at->map().find(path.substr(0, cut)) : nullptr;
      if (at == nullptr)
        throw bad_schema(concat("the schema has nothing at '", ref.text().substr(0, 100), "'"));
      more = cut != path.npos;
      if (more) path.remove_prefix(cut + 1);
    }
    if (!open_.insert(ref.text()).second)
      throw bad_schema("a '$ref' that contains itself is not supported");
    Node node = read(*at, depth + 1);
    open_.erase(ref.text());
    return node;
  }

  Node read_some(const char* name, const Value& some, int depth) {
    if (!some.is_list() || some.items().empty())
      throw bad_schema(concat("'", name, "' of the schema must list schemas"));
    if (std::string_view(name) == "allOf" && some.items().size() > 1)
      throw bad_schema("the schema keyword 'allOf' of several schemas is not supported");
    Node out = read(some.items()[0], depth + 1);
    for (size_t i = 1; i < some.items().size(); ++i) {
      const Node more = read(some.items()[i], depth + 1);
      if ((out.object && more.object) || (out.array && more.array))
        throw bad_schema(concat("the schema keyword '", name, "' of several ",
                                out.object && more.object ? "objects" : "arrays",
                                " is not supported"));
      join(out, more);
    }
    return out;
  }

  /// Adds the texts that another node allows. At most one of the two may allow objects, and at most
  /// one may allow arrays.
  static void join(Node& out, const Node& more) {
    out.string |= more.string;
    out.integer = (!out.number || out.integer) && (!more.number || more.integer);
    out.number |= more.number;
    out.integer &= out.number;
    if (more.object) {
      out.object = true;
      out.keys = more.keys, out.values = more.values;
      out.required = more.required, out.others = more.others;
    }
    if (more.array)
      out.array = true, out.items = more.items, out.least = more.least, out.most = more.most;
    out.literals.insert(out.literals.end(), more.literals.begin(), more.literals.end());
    tidy(out);
  }

  /// Sorts the literals and removes those that the node's types allow anyway.
  static void tidy(Node& node) {
    const auto held = [&](const std::string& text) {
      return text[0] == '"' ? node.string
                            : node.number && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    };
    std::erase_if(node.literals, held);
    std::sort(node.literals.begin(), node.literals.end());
    node.literals.erase(std::unique(node.literals.begin(), node.literals.end()),
                        node.literals.end());
  }

  static Node read_literals(const std::vector<Value>& values, const char* name) {
    if (values.empty() || values.size() > kMostLiterals)
      throw bad_schema(
          concat("'", name, "' of the schema must have 1 to ", kMostLiterals, " values"));
    Node node;
    for (const Value& value : values) {
      if (value.is_map() || value.is_list())
        throw bad_schema(
            concat("the schema keyword '", name, "' with objects or arrays is not supported"));
      node.literals.push_back(json_text(value));
    }
    tidy(node);
    return node;
  }

  Node read_types(const Map& map, int depth) {
    std::vector<Value> types;
    if (const Value* type = map.find("type")) {
      types = type->is_list() ? type->items() : std::vector<Value>{*type};
    } else if (map.find("properties") != nullptr || map.find("required") != nullptr) {
      types = {Value("object")};
    } else if (map.find("items") != nullptr) {
      types = {Value("array")};
    } else {
      return any_value();
    }
    Node node;
    for (const Value& type : types) {
      const std::string name = type.is_text() ? type.text() : "";
      if (name == "string") {
        node.string = true;
      } else if (name == "number" || name == "integer") {
        node.integer = name == "integer" && (!node.number || node.integer);
        node.number = true;
      } else if (name == "boolean") {
        node.literals.insert(node.literals.end(), {"true", "false"});
      } else if (name == "null") {
        node.literals.emplace_back("null");
      } else if (name == "object") {
        node.object = true;
        read_object_schema(map, node, depth);
      } else if (name == "array") {
        node.array = true;
        read_array_schema(map, node, depth);
      } else {
        throw bad_schema(concat("the schema's type '", name.substr(0, 100), "' is unknown"));
      }
    }
    tidy(node);
    return node;
  }

  void read_object_schema(const Map& map, Node& node, int depth) {
    std::map<std::string, Value> named;
    if (const Value* properties = map.find("properties")) {
      if (!properties->is_map()) throw bad_schema("'properties' of the schema must be an object");
      for (const auto& [key, value] : properties->map().entries()) named[key] = value;
    }
    std::set<std::string> required;
    if (const Value* names = map.find("required"); names != nullptr && !names->is_none()) {
      if (!names->is_list()) throw bad_schema("'required' of the schema must be an array");
      for (const Value& name : names->items()) {
        if (!name.is_text()) throw bad_schema("'required' of the schema must list names");
        required.insert(name.text());
        named.try_emplace(name.text(), true);
      }
    }
    if (named.size() > kMostKeys)
      throw bad_schema(concat("an object of the schema has ", named.size(), " properties; at most ",
                              kMostKeys, " are supported"));
    const Value* others = map.find("additionalProperties");
    const bool none = others != nullptr && others->is_bool() && !others->flag();
    if (named.empty() && !none) node.others = others == nullptr ? 0 : add(*others, depth + 1);
    std::map<std::string, std::pair<int, bool>> sorted;  // keys are the values' JSON texts
    for (const auto& [key, value] : named)
      sorted[json_text(Value(key))] = {add(value, depth + 1), required.contains(key)};
    for (const auto& [key, value] : sorted) {
      if (value.second) node.required |= uint64_t{1} << node.keys.size();
      node.keys.push_back(key);
      node.values.push_back(value.first);
    }
  }

  void read_array_schema(const Map& map, Node& node, int depth) {
    if (const Value* items = map.find("items")) node.items = add(*items, depth + 1);
    const auto count = [&](const char* name, int64_t& out) {
      const Value* value = map.find(name);
      if (value == nullptr) return;
      if (!value->is_int() || value->integer() < 0)
        throw bad_schema(concat("'", name, "' of the schema must be an integer, 0 or more"));
      out = value->integer();
    };
    count("minItems", node.least), count("maxItems", node.most);
    if (node.least > node.most) throw bad_schema("'minItems' of the schema is above 'maxItems'");
  }

  const Value& root_;
  std::vector<Node> nodes_;
  std::set<std::string> open_;  // references that are currently being resolved
};

}  // namespace

JsonGrammar::JsonGrammar() {
  Node object;
  object.object = true, object.others = 0;
  nodes_ = std::make_shared<const std::vector<Node>>(std::vector<Node>{any_value(), object});
  root_ = 1;
}

Result<JsonGrammar> JsonGrammar::of_schema(const Value& schema) try {
  SchemaReader reader(schema);
  JsonGrammar out;
  out.root_ = reader.add(schema);
  out.nodes_ = std::make_shared<const std::vector<Node>>(reader.take());
  const Node& root = out.node(out.root_);
  if (!root.object || root.array || root.string || root.number || !root.literals.empty())
    return bad_schema("the schema's root must be of the type 'object'");
  return out;
} catch (const Error& fault) {
  return fault;
} catch (const jinja::Fault& fault) {
  return bad_schema(concat("the schema ", fault.what()));
}

JsonWriting& JsonWriting::operator=(const JsonWriting& other) {
  if (this == &other) return *this;
  grammar_ = other.grammar_, place_ = other.place_, node_ = other.node_;
  blanks_ = other.blanks_, part_ = other.part_, digits_ = other.digits_;
  low_ = other.low_, high_ = other.high_, left_ = other.left_, key_ = other.key_;
  closers_ = other.closers_, text_ = other.text_, at_ = other.at_, depth_ = other.depth_;
  std::copy_n(other.frames_.begin(), depth_, frames_.begin());
  return *this;
}

bool JsonWriting::operator==(const JsonWriting& other) const {
  const auto same = [&](auto... fields) { return ((this->*fields == other.*fields) && ...); };
  return same(&JsonWriting::grammar_, &JsonWriting::place_, &JsonWriting::node_,
              &JsonWriting::blanks_, &JsonWriting::part_, &JsonWriting::digits_, &JsonWriting::low_,
              &JsonWriting::high_, &JsonWriting::left_, &JsonWriting::key_, &JsonWriting::closers_,
              &JsonWriting::text_, &JsonWriting::at_, &JsonWriting::depth_) &&
         std::equal(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(depth_),
                    other.frames_.begin());
}

bool JsonWriting::blank(unsigned char c) {
  if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return false;
  return ++blanks_ <= kMostBlanks;
}

bool JsonWriting::push(unsigned char c) {
  switch (place_) {
    case Place::kString:
      return in_string(c);
    case Place::kNumber:
      return in_number(c);
    case Place::kLiteral:
      return in_literal(c);
    case Place::kKeyText: {
      Frame& frame = frames_[depth_ - 1];
      const auto& keys = grammar_->node(frame.node).keys;
      if (!go_on(keys, frame.count, c)) return false;
      if (keys[text_].size() > at_) return true;
      frame.count |= uint64_t{1} << text_;
      node_ = grammar_->node(frame.node).values[text_];
      place_ = Place::kColon;
      return true;
    }
    default:
      break;
  }
  if (blank(c)) return true;
  blanks_ = 0;
  switch (place_) {
    case Place::kFirstItem:
      if (c == ']') return close(false);
      [[fallthrough]];
    case Place::kValue:
      return begin_value(c);
    case Place::kFirstKey:
      if (c == '}') return close(true);
      [[fallthrough]];
    case Place::kKey:
      return begin_key(c);
    case Place::kColon:
      place_ = Place::kValue;
      return c == ':';
    case Place::kAfter:
      return after(c);
    case Place::kClosers:
      if (--closers_ == 0) place_ = Place::kDone;
      return c == '}';
    default:
      return false;
  }
}

bool JsonWriting::begin_value(unsigned char c) {
  const Node& node = grammar_->node(node_);
  if (place_ == Place::kFirstItem && node.most == 0) return false;
  part_ = left_ = low_ = digits_ = 0, at_ = text_ = 0, key_ = false;
  if (place_ == Place::kFirstItem) node_ = node.items;
  const Node& value = grammar_->node(node_);
  if (c == '"' && value.string) {
    place_ = Place::kString;
    return true;
  }
  if ((c == '{' && value.object) || (c == '[' && value.array)) {
    if (depth_ == kMostDepth) return false;
    frames_[depth_++] = {node_, c == '{', 0};
    place_ = c == '{' ? Place::kFirstKey : Place::kFirstItem;
    return true;
  }
  if (value.number && (c == '-' || (c >= '0' && c <= '9'))) {
    place_ = Place::kNumber;
    return in_number(c);
  }
  place_ = Place::kLiteral;
  return in_literal(c);
}

bool JsonWriting::begin_key(unsigned char c) {
  const Node& object = grammar_->node(frames_[depth_ - 1].node);
  part_ = left_ = low_ = 0, at_ = text_ = 0;
  if (c != '"') return false;
  if (object.keys.empty()) {
    key_ = true, node_ = object.others, place_ = Place::kString;
    return object.others >= 0;
  }
  place_ = Place::kKeyText;
  return go_on(object.keys, frames_[depth_ - 1].count, c);
}

/// Finds the first text, from text_ on, that has the same beginning followed by `c`.
bool JsonWriting::go_on(const std::vector<std::string>& texts, uint64_t skipped, unsigned char c) {
  for (size_t i = text_; i < texts.size(); ++i) {
    if (texts[i].compare(0, at_, texts[text_], 0, at_) != 0) return false;
    if (texts[i].size() <= at_ || static_cast<unsigned char>(texts[i][at_]) != c) continue;
    if (i < 64 && (skipped >> i & 1) != 0) continue;
    text_ = static_cast<uint32_t>(i), ++at_;
    return true;
  }
  return false;
}

bool JsonWriting::in_literal(unsigned char c) {
  const auto& texts = grammar_->node(node_).literals;
  if (texts.empty()) return false;
  if (go_on(texts, 0, c)) {
    const bool whole = texts[text_].size() == at_;
    const bool longer = text_ + 1 < texts.size() && texts[text_ + 1].starts_with(texts[text_]);
    return !whole || longer || end_value();
  }
  return texts[text_].size() == at_ && end_value() && push(c);
}

bool JsonWriting::in_string(unsigned char c) {
  enum Part : uint8_t { kPlain, kEscape, kHex, kHexBehindD };
  if (low_ != 0) {  // the byte is within a character
    if (c < low_ || c > high_) return false;
    low_ = --left_ > 0 ? 0x80 : 0, high_ = 0xBF;
    return true;
  }
  if (part_ == kEscape) {
    part_ = c == 'u' ? kHex : kPlain, left_ = c == 'u' ? 4 : 0;
    return std::string_view("\"\\/bfnrtu").find(static_cast<char>(c)) != std::string_view::npos;
  }
  if (part_ != kPlain) {  // surrogates (U+D800 to U+DFFF) are not allowed
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !((c | 0x20) >= 'a' && (c | 0x20) <= 'f')) return false;
    if (part_ == kHexBehindD && !(digit && c < '8')) return false;
    part_ = left_ == 4 && (c | 0x20) == 'd' ? kHexBehindD : kHex;
    if (--left_ == 0) part_ = kPlain;
    return true;
  }
  if (c == '"') {
    if (!key_) return end_value();
    place_ = Place::kColon;
    return true;
  }
  if (c == '\\') part_ = kEscape;
  if (c < 0x80) return c >= 0x20;
  if (c < 0xC2 || c > 0xF4) return false;
  left_ = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
  low_ = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
  high_ = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
  return true;
}

bool JsonWriting::in_number(unsigned char c) {
  enum Part : uint8_t { kStart, kMinus, kZero, kWhole, kPoint, kFraction, kE, kSign, kExponent };
  const bool digit = c >= '0' && c <= '9', whole = grammar_->node(node_).integer;
  const auto go = [&](Part part) {
    part_ = part;
    return !digit || ++digits_ <= kMostDigits;
  };
  const bool ended = part_ == kZero || part_ == kWhole || part_ == kFraction || part_ == kExponent;
  if (part_ == kStart && c == '-') return go(kMinus);
  if (part_ <= kMinus) return digit && go(c == '0' ? kZero : kWhole);
  if (digit && part_ != kZero)
    return go(part_ == kWhole                         ? kWhole
              : part_ == kPoint || part_ == kFraction ? kFraction
                                                      : kExponent);
  if (c == '.' && !whole && (part_ == kZero || part_ == kWhole))
    return digits_ < kMostDigits && go(kPoint);
  if ((c | 0x20) == 'e' && !whole && ended && part_ != kExponent) {
    digits_ = kMostDigits - 2;  // at most two digits of an exponent, so that a double holds it
    return go(kE);
  }
  if ((c == '+' || c == '-') && part_ == kE) return go(kSign);
  return ended && end_value() && push(c);
}

bool JsonWriting::end_value() {
  if (depth_ == 0) {
    place_ = closers_ > 0 ? Place::kClosers : Place::kDone;
    return true;
  }
  if (Frame& frame = frames_[depth_ - 1]; !frame.object) ++frame.count;
  place_ = Place::kAfter;
  return true;
}

bool JsonWriting::after(unsigned char c) {
  if (c == '}' || c == ']') return close(c == '}');
  if (c != ',') return false;
  const Frame& frame = frames_[depth_ - 1];
  const Node& node = grammar_->node(frame.node);
  if (!frame.object) {
    node_ = node.items, place_ = Place::kValue;
    return frame.count < static_cast<uint64_t>(node.most);
  }
  place_ = Place::kKey;
  return node.keys.empty() || std::popcount(frame.count) < std::ssize(node.keys);
}

bool JsonWriting::close(bool object) {
  const Frame& frame = frames_[depth_ - 1];
  const Node& node = grammar_->node(frame.node);
  if (frame.object != object) return false;
  if (object ? (frame.count & node.required) != node.required
             : frame.count < static_cast<uint64_t>(node.least))
    return false;
  --depth_;
  return end_value();
}

}  // namespace syrinx::llm
