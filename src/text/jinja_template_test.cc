#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/check.h"
#include "base/fuzzing.h"
#include "io/file.h"
#include "text/jinja/template.h"

namespace syrinx::jinja {
namespace {

std::string load_fault(const std::string& source) {
  try {
    const Template read(source, "file");
    return "";
  } catch (const LoadError& error) {
    return error.what();
  }
}

std::string rendered(const std::string& source, const Template::Variables& variables = {},
                     const Limits& limits = {}) {
  const auto out = Template(source, "file").render(variables, 0, limits);
  return out.ok() ? out.value() : "! " + out.error().message;
}

std::vector<std::string> own_templates() {
  std::vector<std::string> out;
  const std::string dir = SYRINX_BINARY_DIR "/parity/chat_template/templates";
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    out.push_back(read_file(entry.path(), 1 << 20));
  EXPECT_GT(out.size(), 5u);
  return out;
}

Value chat_of(int64_t messages) {
  std::vector<Value> list;
  for (int64_t i = 0; i < messages; ++i) {
    Map message;
    message.set("role", i % 2 == 0 ? "user" : "assistant");
    message.set("content", concat("message ", i));
    list.push_back(make_map(std::move(message)));
  }
  return make_list(std::move(list));
}

TEST(JinjaLoad, NamesLineAndConstruct) {
  EXPECT_EQ(load_fault("a\n{% include x %}"), "file: line 2: {% include %} is not supported here");
  EXPECT_EQ(load_fault("{% call x %}{% endcall %}"),
            "file: line 1: {% call %} needs a call of a macro");
  EXPECT_EQ(load_fault("{% for i in x %}{% call y() %}{% break %}{% endcall %}{% endfor %}"),
            "file: line 1: {% break %} outside of a for loop");
  EXPECT_EQ(load_fault("{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}"),
            "file: line 1: expected {% endcall %}, got the end of the template");
  EXPECT_EQ(load_fault("{{ 1 | no_such }}"), "file: line 1: the filter 'no_such' is not supported");
  EXPECT_EQ(load_fault("\n\n{{ 1 is odder }}"), "file: line 3: the test odder is not supported");
  EXPECT_EQ(load_fault("{% for x in y recursive %}{% endfor %}"),
            "file: line 1: a recursive for loop is not supported");
  EXPECT_EQ(load_fault("{% if x %}\n"),
            "file: line 1: expected {% endif %}, got the end of the template");
  EXPECT_EQ(load_fault("{{ 'a }}"), "file: line 1: a text in quotes has no end");
  EXPECT_EQ(load_fault("{{ f(*a) }}"), "file: line 1: arguments by '*' are not supported");
  EXPECT_EQ(load_fault("{% for i in x %}{% macro m() %}{% endmacro %}{% endfor %}"),
            "file: line 1: a macro inside a for loop or a macro is not supported");
  EXPECT_EQ(load_fault("{{ (1] }}"), "file: line 1: unexpected ']'");
  EXPECT_EQ(load_fault("{{ a ? b }}"), "file: line 1: unexpected ?");
  EXPECT_EQ(load_fault("{# never"), "file: line 1: a comment has no end");
  EXPECT_EQ(load_fault("{{ 99999999999999999999 }}"),
            "file: line 1: the number 99999999999999999999 is too large");
  EXPECT_NE(load_fault("{% break %}"), "");
}

TEST(JinjaLoad, RefusesWhatIsUnknownAlsoInBranches) {
  EXPECT_EQ(load_fault("{% if a %}\n{{ 1 | no_such }}{% endif %}"),
            "file: line 2: the filter 'no_such' is not supported");
  EXPECT_EQ(load_fault("{% if a %}{{ no_such(1) }}{% endif %}"),
            "file: line 1: unknown function 'no_such'");
  EXPECT_EQ(load_fault("{% if a %}{{ a.no_such(1) }}{% endif %}"),
            "file: line 1: the method 'no_such' is not supported");
  // A macro that is called with itself as its argument.
  EXPECT_EQ(load_fault("{% macro m(g) %}{{ g(1) }}{% endmacro %}{{ m(m) }}"), "");
  EXPECT_EQ(load_fault("{% if now is defined %}{{ now('%Y') }}{% endif %}"), "");
  EXPECT_EQ(load_fault("{{ 'a'.strip() }}{{ strftime_now('%Y') }}{{ range(3) }}"), "");
}

TEST(JinjaLoad, BoundsSizeAndNesting) {
  EXPECT_NE(load_fault(std::string(1 << 20, 'x')).find("bytes"), std::string::npos);
  for (const char* open : {"(", "[", "{'a':", "not ", "- ", "x[", "f(", "1 if "}) {
    std::string source = "{{ ";
    for (int i = 0; i < 20'000; ++i) source += open;
    EXPECT_NE(load_fault(source), "") << open;
  }
  std::string ifs, sum = "{{ 1", elifs = "{% if a %}";
  for (int i = 0; i < 10'000; ++i) ifs += "{% if a %}";
  EXPECT_NE(load_fault(ifs).find("nested more than"), std::string::npos);
  for (int i = 0; i < 10'000; ++i) sum += "+1";
  EXPECT_NE(load_fault(sum + " }}").find("nested more than"), std::string::npos);
  for (int i = 0; i < 10'000; ++i) elifs += "{% elif b %}";
  EXPECT_EQ(load_fault(elifs + "{% endif %}"), "");
}

TEST(JinjaRun, NamesTheLine) {
  EXPECT_EQ(rendered("a\n{{ x.y }}"), "! the chat template, line 2: 'x' is undefined");
  EXPECT_EQ(rendered("{{ raise_exception('no ' + 'way') }}"),
            "! the chat template, line 1: no way");
  EXPECT_EQ(rendered("{% if f is defined %}x{% endif %}{{ f(1) }}"),
            "! the chat template, line 1: unknown function 'f'");
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% macro m() %}{% set ns.kept = caller %}"
                     "{% endmacro %}{% call m() %}x{% endcall %}{{ ns.kept() }}"),
            "! the chat template, line 1: 'caller' is valid only within its {% call %}");
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% macro m() %}{% set ns.kept = caller %}"
                     "{% endmacro %}{% call m() %}x{% endcall %}{% set k = ns.kept %}{{ k() }}"),
            "! the chat template, line 1: 'caller' is valid only within its {% call %}");
  EXPECT_EQ(rendered("{% set x = 1 %}{% call x() %}{% endcall %}"),
            "! the chat template, line 1: {% call %} needs a call of a macro");
  EXPECT_EQ(rendered("{{ [1] | batch(0) }}"),
            "! the chat template, line 1: 'batch' takes a count of at least 1");
}

/// The expected outputs are those of Jinja2: tests/parity/chat_template/make_expressions.py.
TEST(JinjaRun, SmallTemplatesAsJinja2) {
  const auto golden =
      parse_json(read_file(SYRINX_BINARY_DIR "/parity/chat_template/expressions.json", 1 << 20));
  ASSERT_TRUE(golden.ok());
  Template::Variables values;
  for (const auto& [name, value] : golden.value().map().find("values")->map().entries())
    values.emplace_back(name, value);
  const auto& cases = golden.value().map().find("cases")->items();
  EXPECT_GT(cases.size(), 70u);
  for (const Value& each : cases) {
    const std::string& source = each.map().find("template")->text();
    std::string got = load_fault(source);
    if (got.empty()) got = rendered(source, values);
    EXPECT_EQ(got, each.map().find("result")->text()) << source;
  }
}

TEST(JinjaRun, FormatsAreBounded) {
  for (const char* source :
       {"{{ '%9999d' % 1 }}", "{{ '{:9999}'.format(1) }}", "{{ '%s' % () }}", "{{ '%' % 1 }}",
        "{{ '%d' % 'x' }}", "{{ '{'.format() }}", "{{ '{}'.format() }}", "{{ '{:z}'.format(1) }}",
        "{{ '%s' % (1, 2) }}", "{{ '{0.x}'.format(1) }}", "{{ '%(a)s' % {} }}", "{{ '%q' % 1 }}"})
    EXPECT_TRUE(rendered(source).starts_with("! ")) << source;
}

TEST(JinjaRun, TestsMayBeSigns) {
  const std::string others =
      "{% for m in messages | selectattr('role', '!=', 'user') %}{{ m.content }} {% endfor %}";
  EXPECT_EQ(rendered(others, {{"messages", chat_of(4)}}), "message 1 message 3 ");
  const auto kept = [](const std::string& sign) {
    return rendered("{{ [1, 2, 3] | select('" + sign + "', 2) | join }}");
  };
  EXPECT_EQ(kept("=="), "2");
  EXPECT_EQ(kept("!="), "13");
  EXPECT_EQ(kept("<"), "1");
  EXPECT_EQ(kept("<="), "12");
  EXPECT_EQ(kept(">"), "3");
  EXPECT_EQ(kept(">="), "23");
}

TEST(JinjaRun, EndsWhatHasNoEnd) {
  EXPECT_NE(rendered("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deeply"),
            std::string::npos);
  const std::string ten = "{% for a in range(99999) %}", end = "{% endfor %}";
  EXPECT_NE(
      rendered(ten + ten + ten + end + end + end, {}, {.work = 5'000'000}).find("limit of work"),
      std::string::npos);
  EXPECT_NE(rendered(ten + "{{ 'x' * 1000 }}" + end).find("writes more than"), std::string::npos);
  EXPECT_NE(rendered("{% set ns = namespace(x='y') %}" + ten + "{% set ns.x = ns.x + ns.x %}" + end)
                .find("limit of work"),
            std::string::npos);
  EXPECT_NE(rendered("{% set ns = namespace(x=[]) %}" + ten + "{% set ns.x = [ns.x] %}" + end)
                .find("deep"),
            std::string::npos);
  EXPECT_NE(rendered("{% set ns = namespace(x=[1]) %}" + ten +
                     "{% for y in ns.x %}{% set ns.x = [loop] %}{% endfor %}" + end)
                .find("deep"),
            std::string::npos);
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x == ns }}"), "True");
  EXPECT_NE(rendered("{{ 'x' * 99999999999 }}").find("too long"), std::string::npos);
  EXPECT_NE(rendered("{{ 9223372036854775807 + 1 }}").find("too large"), std::string::npos);
  EXPECT_NE(rendered("{{ -9223372036854775807 // -1 - 1 - 99 }}").find("!"), 1u);
  EXPECT_EQ(
      rendered("{{ [1, 2, 3][9223372036854775807:-9223372036854775807:-9223372036854775807] }}"),
      "[3]");
}

/// The work grows linearly with the number of messages.
TEST(JinjaRun, TakesManyMessages) {
  const std::string source =
      read_file(SYRINX_BINARY_DIR "/parity/chat_template/templates/marks.jinja", 1 << 20);
  const Template read(source, "file");
  const auto work = [&](int64_t messages) {
    const Template::Variables variables{{"messages", chat_of(messages)}};
    uint64_t enough = 1000;
    while (!read.render(variables, 0, {enough, 16'000'000}).ok()) enough += enough / 4;
    return static_cast<double>(enough);
  };
  EXPECT_LT(work(5000), 30 * work(250));
  const auto out = read.render({{"messages", chat_of(100'000)}}, 0);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_GT(out.value().size(), 3'000'000u);
}

TEST(JinjaJson, ReadsInOrderAndBounded) {
  Budget budget(1000);
  const auto text = [&](std::string_view json) {
    const auto value = parse_json(json, 50);
    return value.ok() ? to_json(value.value(), {}, budget) : "! " + value.error().message;
  };
  EXPECT_EQ(text(R"({"b":1,"a":[true,null,-2,1.5,"\u00e9\n"],"b":2})"),
            "{\"b\": 2, \"a\": [true, null, -2, 1.5, \"é\\n\"]}");
  EXPECT_EQ(text("18446744073709551615"), "1.8446744073709552e+19");
  EXPECT_EQ(text(std::string(60, '[') + std::string(60, ']')), "! is nested more than 50 deep");
  EXPECT_EQ(text("[1,"), "! is not valid JSON near byte 4");
  EXPECT_EQ(text("[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                 "0,0,0,0,0,0,0,0,0,0,0]"),
            "! has too many values");
  EXPECT_EQ(text("\"\xff\""), "! is not valid JSON near byte 2");
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) many += concat(i > 0 ? "," : "", "\"k", i % 70'000, "\":", i);
  const auto map = parse_json(many + "}");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map.value().map().entries().size(), 70'000u);
  EXPECT_EQ(map.value().map().find("k1")->integer(), 70'001);
}

/// Damaged copies of real templates are refused, fail or are rendered, always within the limits.
TEST(JinjaFuzz, SurvivesMutations) {
  const std::vector<std::string> sources = own_templates();
  const Template::Variables variables{{"messages", chat_of(4)},
                                      {"tools", make_list({Value("a"), chat_of(1)})},
                                      {"add_generation_prompt", true}};
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  int rendered_count = 0, faults = 0, refused = 0;
  const int inputs = fuzz_inputs(4000);
  for (int round = 0; round < inputs; ++round) {
    std::string source = sources[below(sources.size())];
    for (size_t edits = 1 + below(3); edits > 0 && !source.empty(); --edits) {
      const size_t at = below(source.size()), size = 1 + below(12);
      switch (below(4)) {
        case 0:
          source.erase(at, size);
          break;
        case 1:
          source[at] = static_cast<char>(below(256));
          break;
        case 2:
          source.insert(at, source.substr(below(source.size()), size));
          break;
        default: {
          const std::string& other = sources[below(sources.size())];
          source.insert(at, other.substr(below(other.size()), 4 * size));
        }
      }
    }
    try {
      const Template read(source, "fuzz");
      (read.render(variables, 0, {100'000, 100'000}).ok() ? rendered_count : faults)++;
    } catch (const LoadError&) {
      ++refused;
    }
  }
  EXPECT_GT(rendered_count, 100);
  EXPECT_GT(faults, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace syrinx::jinja
