#include "config/examples.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/fault_injection.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/profile_fields.hpp"

namespace muster {

namespace {

class ExampleReader {
 public:
  ExampleReader(const Node& table, bool is_bad, DocumentErrors& errors)
      : written_(is_bad ? "[[bad]]" : "[[good]]"), fields_(table, table.at, written_, errors) {
    example_.is_bad = is_bad;
    example_.place = errors.text(table.at);
    for (const char* key : {"checks", "machine", "faults", "system", "settings"})
      if (const Entry* entry = fields_.find(key)) example_.places[key] = errors.text(entry->value.at);
  }

  Example read() {
    (void)fields_.need("checks", "checks = [\"hello\"]");
    example_.checks = fields_.texts("checks");
    (void)fields_.need("machine", "machine = \"perlmutter\"");
    example_.machine = fields_.text("machine").value_or("");
    example_.faults = fields_.texts("faults");
    example_.driver = fields_.texts("driver");
    example_.ranks_per_node = fields_.integer("ranks", {1, 64});
    example_.system = fields_.text("system").value_or("");
    example_.settings = fields_.texts("settings");
    example_.module = fields_.text("module").value_or("");
    read_variables();
    read_hosts();
    read_orders();
    read_timeout();
    read_blame();
    fields_.finish();
    return std::move(example_);
  }

 private:
  void read_variables() {
    const auto* environment = fields_.table("environment");
    if (environment == nullptr) return;
    for (const auto& [key, at, value] : environment->value.entries)
      if (is_variable(key) && value.kind == NodeKind::text)
        example_.environment.emplace_back(key, value.text);
      else
        fields_.complain(at, fmt::format("\"{}\" must be a variable with a text, such as OMP_NUM_THREADS = \"1\"",
                                         printable_line(key, 60)));
  }

  void read_hosts() {
    const auto text = fields_.text("nodes");
    if (!text) return;
    const auto hosts = expand_hostlist(*text);
    if (hosts && hosts->size() <= 64)
      example_.hosts = *hosts;
    else
      fields_.complain(
          fields_.find("nodes")->value.at,
          hosts ? "at most 64 nodes can be shown" : "\"nodes\" must be a list of nodes: " + hosts.error().what);
  }

  void read_orders() {
    example_.orders = fields_.texts("orders");
    for (const std::string& order : example_.orders)
      if (const auto parsed = parse_faults(order); !parsed)
        fields_.complain(fields_.find("orders")->value.at, parsed.error().what);
  }

  void read_timeout() {
    example_.timeout = fields_.text("timeout").value_or("");
    if (!example_.timeout.empty() && !parse_duration(example_.timeout))
      fields_.complain(fields_.find("timeout")->value.at, "\"timeout\" must be a time, such as \"30s\"");
  }

  /// A failing example without culprits would also match a different fault.
  void read_blame() {
    if (!example_.is_bad) {
      example_.what = fields_.text("what").value_or("");
      return;
    }
    (void)fields_.need("what", "what = \"GPU 1 has fallen off the bus\"");
    example_.what = fields_.text("what").value_or("");
    (void)fields_.need("culprits", "culprits = [\"rank 1\"]");
    example_.culprits = fields_.texts("culprits");
    std::sort(example_.culprits.begin(), example_.culprits.end());
  }

  std::string written_;
  Fields fields_;
  Example example_;
};

bool is_dot_file(const fs::path& path) {
  const auto name = path.filename().string();
  return name.empty() || name.front() == '.';
}

void take_folder(const fs::path& folder, std::set<fs::path>& files) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".toml" && !is_dot_file(entry.path())) files.insert(entry.path());
}

void search(const fs::path& folder, std::set<fs::path>& files) {
  if (folder.filename() == "selftest") return take_folder(folder, files);
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    if (at->path().filename() == "selftest") take_folder(at->path(), files);
    if (at->path().filename() == "selftest" || is_dot_file(at->path())) at.disable_recursion_pending();
  }
}

}  // namespace

std::vector<Example> parse_examples(std::string_view toml, const std::string& name, Diagnostics& diagnostics) {
  DocumentErrors errors(name);
  std::vector<Example> examples;
  if (const auto document = parse_document(toml, errors)) {
    Fields top(*document, {}, "", errors);
    for (const bool is_bad : {false, true}) {
      const std::string key = is_bad ? "bad" : "good";
      if (top.find(key) == nullptr) continue;
      for (const Node* table : top.tables(key, "[[" + key + "]]"))
        examples.push_back(ExampleReader(*table, is_bad, errors).read());
    }
    top.finish();
  }
  for (Example& example : examples) example.folder = fs::path(name).parent_path().string();
  errors.deliver(diagnostics);
  return examples;
}

std::vector<fs::path> find_example_files(std::span<const std::string> paths) {
  std::set<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
      search(path, files);
    else
      take_folder(fs::path(path).parent_path() / "selftest", files);
  }
  return {files.begin(), files.end()};
}

}  // namespace muster
