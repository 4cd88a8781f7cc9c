// The names in a template during parsing: the ids of its variables, and the names that it calls.
// Calls of unknown names are refused. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace syrinx::jinja {

class NameTable {
 public:
  /// Returns the id of a variable.
  int id_of(const std::string& name);
  /// Notes that the template defines a variable or an attribute (".name"), or tests whether a name
  /// is defined ("if f is defined").
  void made(const std::string& name) { made_.insert(name); }
  /// Notes a call of a function, or of a method (".name").
  void called(const std::string& name, int line) { called_.push_back({name, line}); }
  /// Throws SyntaxFault for a call of an unknown name. Call it when the whole template is read.
  void refuse_unknown_calls() const;
  /// Returns the names of all variables; the index is the variable's id.
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
  std::set<std::string> made_;
  std::vector<std::pair<std::string, int>> called_;  // name, line
};

}  // namespace syrinx::jinja
