// A simulated machine in a file: what is written reads back the same, and what is wrong is refused by its name, with what is expected.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <set>

#include "tools/sim/machine.h"

using namespace tutti;
using namespace tutti::tools;

namespace {

machine good(const std::string& text) {
  auto m = machine_from_text(text, "x.json");
  BOOST_REQUIRE_MESSAGE(m.ok(), (m.ok() ? "" : m.error().text()));
  return *m;
}
std::string refusal(const std::string& text) {
  const auto m = machine_from_text(text, "x.json");
  BOOST_REQUIRE_MESSAGE(!m.ok(), text << " was accepted");
  const std::string why = m.error().text();
  BOOST_TEST(why.find("machine x.json: ") == 0u, why);
  BOOST_TEST(why.find('\n') == why.npos);
  return why;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// Another valid value than that which stands there.
std::string another(const machine_parameter& p, const sim::parameters& now) {
  if (std::holds_alternative<choice_field>(p.field)) {
    const choice_field& c = std::get<choice_field>(p.field);
    return std::string(c.words[(c.get(now) + 1) % c.words.size()]);
  }
  const std::string text = text_of(p, now);
  if (text == "on") return "off";
  if (text == "off") return "on";
  sim::parameters scratch;
  for (const std::string other : {"0.30000000000000004", "7", "70", "128", "1"})
    if (other != text && set(scratch, p, other).ok()) return other;
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_file_leaves_out_has_its_default) {
  const machine m = good(R"({"tutti_machine": 1})");
  const sim::parameters fresh;
  for (const machine_parameter& p : machine_parameters()) BOOST_TEST(text_of(p, m.par) == text_of(p, fresh));
}

BOOST_AUTO_TEST_CASE(every_parameter_is_set_alone_and_comes_back) {
  std::set<std::string> names, options;
  for (const machine_parameter& p : machine_parameters()) {
    BOOST_TEST_CONTEXT(std::string(p.name)) {
      BOOST_TEST(names.insert(std::string(p.name)).second);
      BOOST_TEST(options.insert(p.option).second);
      machine m;
      const std::string wanted = another(p, m.par);
      BOOST_REQUIRE(!wanted.empty());
      BOOST_TEST(set(m.par, p, wanted).ok());
      const machine back = good(to_text(m));
      for (const machine_parameter& q : machine_parameters()) {
        BOOST_TEST(text_of(q, back.par) == text_of(q, m.par));
        BOOST_TEST((text_of(q, m.par) == text_of(q, sim::parameters{})) == (&p != &q));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(values_carry_their_source) {
  const std::string text = R"({"tutti_machine": 1, "name": "a", "about": "b",
    "network": {"source": "a table", "latency_us": 3.5, "overhead_us": {"value": 0.5, "source": "a sentence"}}})";
  const machine m = good(good(text).name == "a" ? to_text(good(text)) : "");
  BOOST_TEST(m.par.cost.latency_us == 3.5);
  BOOST_TEST(m.par.cost.overhead_us == 0.5);
  BOOST_TEST(m.source_of("network.latency_us") == "a table");
  BOOST_TEST(m.source_of("network.overhead_us") == "a sentence");
  BOOST_TEST(m.source_of("node.overhead_us") == "");
  BOOST_TEST(m.about == "b");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_with_what_is_expected) {
  const auto in = [](const std::string& rest) { return "{\"tutti_machine\": 1, " + rest + "}"; };
  BOOST_TEST(has(refusal("{"), "parse error"));
  BOOST_TEST(has(refusal("[]"), "an object is expected"));
  BOOST_TEST(has(refusal("{}"), "no \"tutti_machine\""));
  BOOST_TEST(has(refusal(R"({"tutti_machine": 2})"), "reads format 1"));
  BOOST_TEST(has(refusal(in(R"("netwrok": {})")), "did you mean \"network\"?"));
  BOOST_TEST(has(refusal(in(R"("network": {"latency": 1})")), "known are source, latency_us"));
  BOOST_TEST(has(refusal(in(R"("network": {"latncy_us": 1})")), "did you mean \"latency_us\"?"));
  BOOST_TEST(has(refusal(in(R"("network": {"latency_us": -1})")), "network.latency_us is -1: expected is 0 to 1000000"));
  BOOST_TEST(has(refusal(in(R"("network": {"latency_us": "1"})")), "network.latency_us is \"1\": expected is a number, 0 to"));
  BOOST_TEST(has(refusal(in(R"("network": {"latency_us": {"source": "x"}})")), "has no \"value\""));
  BOOST_TEST(has(refusal(in(R"("network": {"latency_us": {"value": 1, "sorce": "x"}})")), "did you mean \"source\"?"));
  BOOST_TEST(has(refusal(in(R"("network": {"latency_us": {"value": 1, "source": ""}})")), "a text of 1 to"));
  BOOST_TEST(has(refusal(in(R"("node": {"ranks": 1.5})")), "node.ranks is 1.5"));
  BOOST_TEST(has(refusal(in(R"("node": {"ranks": 0})")), "expected is 1 to"));
  BOOST_TEST(has(refusal(in(R"("multicast": {"available": 1})")), "true or false"));
  BOOST_TEST(has(refusal(in(R"("network": 3)")), "network is 3: an object is expected"));
  BOOST_TEST(has(refusal(in(R"("name": "a", "name": "b")")), "\"name\" is given twice"));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_no_machine_is_refused_with_those_that_are) {
  const auto none = read_machine("no-such-machine");
  BOOST_TEST(!none.ok());
  BOOST_TEST(has(none.error().text(), "known are "));
  const auto missing = read_machine("./missing.json");
  BOOST_TEST(!missing.ok());
}
