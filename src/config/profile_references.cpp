#include "config/profile_references.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/expectations.hpp"
#include "config/where.hpp"

namespace muster {

namespace {

const std::string parent = "[[partition.reference]]";

/// The one key beside check and where that holds a table.
const Entry* find_metric(const Node& table, Fields& fields) {
  const Entry* metric = nullptr;
  for (const auto& entry : table.entries) {
    if (entry.key == "check" || entry.key == "where" || entry.value.kind != NodeKind::table) continue;
    (void)fields.find(entry.key);
    if (metric == nullptr)
      metric = &entry;
    else
      fields.complain(entry.at,
                      fmt::format("a reference is about one metric; \"{}\" needs a [[partition.reference]] of its own",
                                  printable_line(entry.key, 60)));
  }
  if (metric == nullptr)
    fields.complain(
        table.at,
        fmt::format("{} has no metric; write for example busbw = {{ value = 85.0, lower = -0.05, unit = \"GB/s\" }}",
                    fields.parent()));
  return metric;
}

/// What was read: its entries, and the value that came of them.
struct Written {
  const Entry& check;
  const Entry* where;
  const Entry& metric;
};

void note_places(const ProfileReference& reference, const Written& written, const DocumentErrors& errors,
                 SystemProfile& system) {
  const auto note = [&](const std::string& part, Place at) {
    system.places[reference.reference.place + " " + part] = errors.text(at);
  };
  note("check", written.check.value.at);
  note("unit", written.metric.value.find("unit")->value.at);
  if (written.where == nullptr) return;
  for (const auto& entry : written.where->value.entries) {
    note("where key " + entry.key, entry.at);
    note("where value " + entry.key, entry.value.at);
  }
}

}  // namespace

void read_profile_reference(const Node& table, PartitionProfile& partition, SystemProfile& system,
                            DocumentErrors& errors) {
  Fields fields(table, table.at, parent, errors);
  ProfileReference reference;
  const auto* check = fields.need("check", "check = \"allreduce\"");
  reference.check = fields.text("check").value_or("");
  const auto* where = fields.find("where");
  if (where != nullptr) reference.where = read_where(*where, errors);
  const auto* metric = find_metric(table, fields);
  fields.finish();
  if (metric == nullptr) return;
  auto figures =
      read_reference(*metric, fmt::format("metric \"{}\" of {}", printable_line(metric->key, 60), parent), errors);
  if (!figures || reference.check.empty()) return;
  reference.metric = metric->key;
  reference.reference = std::move(*figures);
  note_places(reference, {*check, where, *metric}, errors, system);
  partition.references.push_back(std::move(reference));
}

}  // namespace muster
