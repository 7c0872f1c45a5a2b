#include "config/system_head.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "config/profile_fields.hpp"

namespace muster {

namespace {

DetectClue read_clue(const Node& table, Place header, DocumentErrors& errors) {
  Fields fields(table, header, "\"detect\" of [system]", errors);
  DetectClue clue;
  if (fields.find("env") != nullptr) clue.env = read_variable_name(fields, "env", "");
  const auto* matches = fields.find("matches");
  clue.value = read_regex(fields, "matches");
  clue.file = fields.text("file").value_or("");
  clue.host = read_regex(fields, "host");
  fields.finish();
  const auto* file = table.find("file");
  if (file != nullptr && !clue.file.empty() && clue.file.front() != '/')
    errors.add(file->value.at, fmt::format("\"{}\" is not an absolute path", printable_line(clue.file, 60)));
  if (table.find("env") == nullptr && table.find("file") == nullptr)
    errors.add(header, table.find("host") != nullptr
                           ? "a host name alone detects no system, since others name their nodes alike; add env = "
                             "\"LUMI_STACK_NAME\" or file = \"/appl/lumi\""
                           : "\"detect\" of [system] has neither \"env\" nor \"file\"; write for example env = "
                             "\"LUMI_STACK_NAME\"");
  else if (matches != nullptr && table.find("env") == nullptr)
    errors.add(matches->at, "\"matches\" is about the value of \"env\", which is missing here");
  return clue;
}

std::vector<DetectClue> read_detect(Fields& fields, DocumentErrors& errors) {
  std::vector<DetectClue> clues;
  const auto* entry = fields.find("detect");
  if (entry == nullptr) return clues;
  if (entry->value.kind == NodeKind::table) {
    clues.push_back(read_clue(entry->value, entry->at, errors));
  } else if (entry->value.kind == NodeKind::array && !entry->value.items.empty()) {
    for (const auto& item : entry->value.items)
      if (item.kind == NodeKind::table)
        clues.push_back(read_clue(item, item.at, errors));
      else
        fields.refuse(*entry, item, "a table, or an array of tables");
  } else {
    fields.refuse(*entry, entry->value, "a table, or an array of tables");
  }
  return clues;
}

LoginExpectation read_login(const Entry& entry, DocumentErrors& errors) {
  Fields fields(entry.value, entry.at, "\"login\" of [system]", errors);
  LoginExpectation login;
  (void)fields.need("host", "host = \"^login\"");
  login.host = read_regex(fields, "host");
  login.gpus = fields.integer("gpus", {0, 1024}).value_or(0);
  fields.finish();
  return login;
}

/// One text or several.
std::vector<std::string> read_values(Fields& fields) {
  const auto* entry = fields.find("value");
  if (entry == nullptr) return {};
  if (entry->value.kind == NodeKind::text) return {entry->value.text};
  if (entry->value.kind == NodeKind::array && !entry->value.items.empty()) return fields.texts("value");
  fields.refuse(*entry, entry->value, "text, or an array of texts");
  return {};
}

Must must_of(const std::string& word) {
  for (const auto must : {Must::unset, Must::equal, Must::differ, Must::address})
    if (to_string(must) == word) return must;
  return Must::set;
}

Place value_place(const Node& table) {
  const auto* value = table.find("value");
  return value == nullptr ? table.at : value->value.at;
}

VariableExpectation read_variable_wanted(const Node& table, DocumentErrors& errors) {
  Fields fields(table, table.at, "[[variable]]", errors);
  VariableExpectation variable;
  variable.name = read_variable_name(fields, "name", "name = \"NCCL_SOCKET_IFNAME\"");
  (void)fields.need("must", "must = \"set\"");
  variable.must = must_of(read_choice(fields, "must", {"set", "unset", "equal", "differ", "address"}));
  variable.values = read_values(fields);
  const bool is_address = variable.must == Must::address;
  const bool needs_value = variable.must == Must::equal || variable.must == Must::differ || is_address;
  const auto* must = table.find("must");
  if (is_address && variable.name != "MASTER_ADDR" && !variable.name.empty())
    fields.complain(must->value.at, "must = \"address\" is about MASTER_ADDR alone");
  if (is_address && variable.values.size() > 1)
    fields.complain(value_place(table), "must = \"address\" takes one interface, such as value = \"bond0\"");
  const auto* value = table.find("value");
  if (needs_value && value == nullptr)
    fields.complain(must->value.at, fmt::format("must = \"{}\" needs a value; write for example value = \"{}\"",
                                                to_string(variable.must), is_address ? "bond0" : "hsn"));
  if (!needs_value && value != nullptr && must != nullptr)
    fields.complain(value->at, fmt::format("must = \"{}\" has no value; write must = \"equal\" or \"differ\"",
                                           to_string(variable.must)));
  variable.nodes = fields.integer("nodes", {1, 1'000'000}).value_or(1);
  variable.is_note = read_choice(fields, "verdict", {"fail", "note"}) == "note";
  (void)fields.need("why", "why = \"RCCL else takes an interface that reaches no other node\"");
  variable.why = fields.text("why").value_or("");
  (void)fields.need("source", "source = \"the site's user guide, page on RCCL\"");
  variable.source = fields.text("source").value_or("");
  fields.finish();
  return variable;
}

}  // namespace

SystemHead read_system_head(const Entry& entry, DocumentErrors& errors) {
  Fields fields(entry.value, entry.at, "[system]", errors);
  SystemHead head;
  head.name = read_name(fields, "name = \"lumi\"");
  head.detect = read_detect(fields, errors);
  if (const auto* login = fields.table("login")) head.login = read_login(*login, errors);
  fields.finish();
  return head;
}

std::vector<VariableExpectation> read_variables_wanted(Fields& top) {
  std::vector<VariableExpectation> all;
  for (const auto* table : top.tables("variable", "[[variable]]")) {
    auto variable = read_variable_wanted(*table, top.errors());
    // Rules for two nodes and for one may coexist, as may positive and negative ones.
    const bool is_twin = std::any_of(all.begin(), all.end(), [&](const VariableExpectation& other) {
      return other.name == variable.name && other.must == variable.must && other.nodes == variable.nodes;
    });
    if (is_twin && !variable.name.empty())
      top.complain(table->find("name")->value.at,
                   fmt::format("{} already must be {} here; write it once", printable_line(variable.name, 60),
                               to_string(variable.must)));
    all.push_back(std::move(variable));
  }
  return all;
}

Unverified read_unverified(Fields& top) {
  Unverified unverified;
  for (const auto* table : top.tables("unverified", "[[unverified]]")) {
    Fields fields(*table, table->at, "[[unverified]]", top.errors());
    const auto* key = fields.need("key", "key = \"cpu.domains\"");
    (void)fields.need("why", "why = \"not documented\"");
    const auto name = fields.text("key");
    const auto why = fields.text("why");
    fields.finish();
    if (!name || !why) continue;
    if (!unverified.why.emplace(*name, *why).second)
      top.complain(key->value.at, fmt::format("\"{}\" occurs twice; write it once", printable_line(*name, 60)));
    unverified.places.emplace(*name, key->value.at);
  }
  return unverified;
}

}  // namespace muster
