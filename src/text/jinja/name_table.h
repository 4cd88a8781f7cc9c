// The names of a template while it is read: numbers of its variables, and what it calls, which is
// refused where no template and no value has it. One thread.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace syrinx::jinja {

class NameTable {
 public:
  /// The number of a variable.
  int id_of(const std::string& name);
  /// Notes that the template makes a variable, or an attribute (".name"), or looks for it ("if f is
  /// defined").
  void made(const std::string& name) { made_.insert(name); }
  /// Notes a call of a function, or of a method (".name").
  void called(const std::string& name, int line) { called_.push_back({name, line}); }
  /// Throws SyntaxFault for a call of what nothing makes. Once all of the template is read.
  void refuse_unknown_calls() const;
  /// Variables by number.
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
  std::set<std::string> made_;
  std::vector<std::pair<std::string, int>> called_;  // with the line
};

}  // namespace syrinx::jinja
