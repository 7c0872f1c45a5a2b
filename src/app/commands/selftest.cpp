#include "app/commands/selftest.hpp"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <optional>

#include "app/inputs/config_homes.hpp"
#include "app/runs/outputs.hpp"
#include "app/runs/run_folder.hpp"
#include "app/selftest/example_plan.hpp"
#include "app/selftest/selftest_table.hpp"
#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/select.hpp"

namespace muster {

namespace {

constexpr int exit_nothing_started = 2;

/// Checks, profiles and examples; every mistake was printed when there is none.
struct Material {
  Loaded loaded;
  std::vector<Example> examples;
};

std::optional<Material> read_material(const SelftestOptions& options) {
  Material material{load(options.paths, {no_usual_homes}), {}};
  material.examples = take_examples(options.paths, material.loaded);
  if (material.loaded.diagnostics.ok()) return material;
  print_errors(material.loaded.diagnostics.errors);
  return std::nullopt;
}

/// A row for each check that is wanted, as muster list -n chooses them; nullopt, with a message, for a name that
/// matches none.
std::optional<std::vector<SelftestRow>> rows_of(const SelftestOptions& options, const Loaded& loaded) {
  SelectOptions select;
  select.names = options.names;
  const auto chosen = select_checks(loaded.checks, select);
  if (!chosen) {
    usage_error(chosen.error());
    return std::nullopt;
  }
  std::vector<SelftestRow> rows;
  for (const Check* check : *chosen) rows.push_back({check, {}, {}, {}});
  return rows;
}

bool is_about(const Example& example, const Check& check) {
  return is_in(check.name, example.checks);
}

/// Silence is not evidence: a check without an example of either kind is reported.
void find_missing(const std::vector<Example>& examples, std::vector<SelftestRow>& rows) {
  for (SelftestRow& row : rows)
    for (const bool is_bad : {false, true})
      if (std::none_of(examples.begin(), examples.end(), [&](const Example& example) {
            return example.is_bad == is_bad && is_about(example, *row.check);
          }))
        row.missing.push_back(is_bad ? "no example shows that it can fail; add one ([[bad]]) to selftest/ beside it"
                                     : "no example shows that it can pass; add one ([[good]]) to selftest/ beside it");
}

/// A Python module that is not here is not missed: nor can the check pass.
void take(ExampleResult shown, std::vector<SelftestRow>& rows) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const SelftestRow& one) { return one.check->name == shown.check; });
  if (!shown.example->module.empty() && shown.verdict == Verdict::skip)
    row->not_here = shown.reason;
  else
    row->shown.push_back(std::move(shown));
}

/// Examples that can share a run do, in the order of the files. Of checks that are not wanted nothing is run.
std::vector<SharedRun> runs_of(const std::vector<Example>& examples, const std::vector<SelftestRow>& rows) {
  std::vector<SharedRun> runs;
  for (const Example& example : examples) {
    auto run = std::find_if(runs.begin(), runs.end(), [&](const SharedRun& one) {
      return std::all_of(one.examples.begin(), one.examples.end(),
                         [&](const Example* other) { return can_share(example, *other); });
    });
    if (run == runs.end()) run = runs.insert(run, SharedRun{});
    run->examples.push_back(&example);
    for (const SelftestRow& row : rows)
      if (is_about(example, *row.check)) run->checks.push_back(row.check->name);
  }
  std::erase_if(runs, [](const SharedRun& run) { return run.checks.empty(); });
  return runs;
}

/// Where machines and runs lie meanwhile; gone afterwards unless they are to be kept.
class Workplace {
 public:
  static Result<Workplace> make(const std::string& keep) {
    Workplace place;
    std::error_code error;
    if (!keep.empty()) {
      if (fs::exists(keep, error)) return fail(ErrorKind::usage, keep, "is there already; name a new folder");
      place.path_ = keep;
      if (auto made = make_folder(keep); !made) return tl::unexpected(made.error());
      return place;
    }
    std::string path = (fs::temp_directory_path(error) / "muster-selftest-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      return fail(ErrorKind::system, path, "can't be made; set TMPDIR to a folder with space");
    place.path_ = path;
    place.is_ours_ = true;
    return place;
  }
  Workplace(Workplace&& other) noexcept : path_(other.path_), is_ours_(std::exchange(other.is_ours_, false)) {}
  Workplace& operator=(Workplace&&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (is_ours_) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  Workplace() = default;
  fs::path path_;
  bool is_ours_ = false;
};

/// No example could be started, which does not concern the checks.
bool is_dumb(const std::vector<SelftestRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const SelftestRow& row) {
    return !row.shown.empty() && std::all_of(row.shown.begin(), row.shown.end(),
                                             [](const ExampleResult& one) { return one.verdict == Verdict::error; });
  });
}

/// The one reason why nothing could be started; empty: there are several, or it is not so.
std::string why_nothing(const std::vector<SelftestRow>& rows) {
  if (rows.empty() || !is_dumb(rows)) return {};
  const std::string& why = rows.front().shown.front().reason;
  const bool is_one = std::all_of(rows.begin(), rows.end(), [&](const SelftestRow& row) {
    return std::all_of(row.shown.begin(), row.shown.end(), [&](const ExampleResult& one) { return one.reason == why; });
  });
  return is_one ? why : "";
}

int status_of(const std::vector<SelftestRow>& rows) {
  const bool is_right = std::all_of(rows.begin(), rows.end(), [](const SelftestRow& row) { return row.is_right(); });
  const bool is_any =
      std::any_of(rows.begin(), rows.end(), [](const SelftestRow& row) { return row.not_here.empty(); });
  if (is_dumb(rows) || (is_right && !is_any)) return exit_nothing_started;
  return is_right ? 0 : 1;
}

int nothing_started(const Error& error) {
  if (error.kind == ErrorKind::usage) return usage_error(error);
  fmt::print(stderr, "muster: {}: no check can be shown here\n", printable_line(to_string(error), 2000));
  return exit_nothing_started;
}

/// Runs the examples and fills the rows; its folders are gone when it returns. The exit status where the command ends
/// with it; else 0.
int run_examples(const SelftestOptions& options, const Material& material, std::vector<SelftestRow>& rows) {
  const auto place = Workplace::make(options.keep);
  if (!place) return nothing_started(place.error());
  auto selftest = Selftest::open(options.launcher, options.agent, place->path());
  if (!selftest) return nothing_started(selftest.error());
  find_missing(material.examples, rows);
  const SignalsHeld held;
  const auto runs = runs_of(material.examples, rows);
  if (const int signal = selftest->carry_out(runs, material.loaded, held.ends()); signal != 0) return 128 + signal;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (ExampleResult& shown : selftest->show(runs[i], i)) take(std::move(shown), rows);
  if (const std::string why = why_nothing(rows); !why.empty() && !options.json)
    return nothing_started({ErrorKind::launch, "", why});
  return 0;
}

}  // namespace

int selftest_command(const SelftestOptions& options) {
  const double began = monotonic_seconds();
  const auto material = read_material(options);
  if (!material) return exit_usage;
  auto rows = rows_of(options, material->loaded);
  if (!rows) return exit_usage;
  if (options.markdown) {
    fmt::print("{}", selftest_page(*rows, material->examples));
    return 0;
  }
  if (const int ended = run_examples(options, *material, *rows); ended != 0) return ended;
  const int status = status_of(*rows);
  const double seconds = monotonic_seconds() - began;
  fmt::print("{}", options.json ? selftest_json(*rows, seconds, status) : selftest_table(*rows, seconds));
  return status;
}

}  // namespace muster
