#include "app/runs/run_folder.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/inputs/simulation.hpp"
#include "app/runs/outputs.hpp"
#include "base/clock.hpp"
#include "base/place.hpp"
#include "base/text.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

/// The folder above, made where it is not there.
Result<OwnedDescriptor> open_parent(const fs::path& path) {
  std::error_code error;
  const auto parent = fs::absolute(path, error).lexically_normal().parent_path();
  const auto refuse = [&](const std::string& what) { return fail(ErrorKind::usage, "--output", what); };
  // Links first: a folder is not even made where another user leads it.
  if (auto links = check_links(path); !links) return refuse(to_string(links.error()));
  const bool is_root = ::geteuid() == 0;
  const auto refuse_root = [&](const Error& error) {
    return refuse(to_string(error) + "; or choose another folder: --output /root/muster-runs");
  };
  if (is_root) {
    auto there = parent;
    while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
    if (auto held = open_trusted(there, {.has_root_group = true}); !held) return refuse_root(held.error());
  }
  if (auto made = make_folder(parent); !made) return tl::unexpected(made.error());
  if (is_root) {
    auto opened = open_trusted(parent, {.has_root_group = true});
    return opened ? std::move(opened) : refuse_root(opened.error());
  }
  // Folders further up may be those of a project, which another member owns (docs/security.md, "Remaining risks").
  auto place = open_place(parent / ".");
  if (!place) return refuse(to_string(place.error()));
  OwnedDescriptor opened = std::move(place->folder);
  struct stat about {};
  if (!see_file(opened.number(), about)) return refuse(fmt::format("{}: {}", parent.string(), std::strerror(errno)));
  if (is_other_user(about.st_uid))
    return refuse(
        fmt::format("{} belongs to user {}, who could put other files in the place of yours; use a folder of your own",
                    parent.string(), about.st_uid));
  if ((about.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
    return refuse(
        fmt::format("every user may write {} and put other files in the place of yours; use a folder of your own",
                    parent.string()));
  return opened;
}

constexpr const char* latest = "latest";

}  // namespace

/// No link and nothing that is there already is taken for it.
Result<void> RunFolder::make_in_parent() {
  const auto name = path_.filename();
  const auto cant = [&] {
    return fail(ErrorKind::system, path_.string(), fmt::format("can't be made: {}", std::strerror(errno)));
  };
  if (::mkdirat(parent_.number(), name.c_str(), 0700) != 0) return cant();
  folder_ = OwnedDescriptor(::openat(parent_.number(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder_.number() >= 0) return {};
  auto failed = cant();
  // An empty folder would look like a run.
  (void)::unlinkat(parent_.number(), name.c_str(), AT_REMOVEDIR);
  return failed;
}

RunReport run_header(const RunOptions& options, const SystemProfile& system) {
  RunReport report;
  const auto now = realtime_nanoseconds();
  report.run_id = random_hex(3);
  report.muster_version = MUSTER_VERSION;
  report.started = rfc3339(now);
  report.command_line = options.command_line;
  report.host = host_name();
  report.user = user_name();
  report.system = system.name;
  report.system_place = system.file;
  if (const fs::path machine = machine_folder(report.host); !machine.empty())
    report.simulated = simulated_name(machine).value_or("unknown");
  report.variables = variables_in_force();
  report.folder =
      options.run_folder.empty()
          ? (fs::path(options.output) / fmt::format("{}-{}", compact_timestamp(now), report.run_id)).string()
          : options.run_folder;
  return report;
}

Result<RunFolder> RunFolder::make(const RunOptions& options, const RunReport& report) {
  RunFolder folder;
  folder.path_ =
      fs::path(report.folder).has_filename() ? fs::path(report.folder) : fs::path(report.folder).parent_path();
  std::error_code ignored;
  if (!options.run_folder.empty() && fs::exists(report.folder, ignored))
    return fail(ErrorKind::usage, report.folder, "is there already; a run does not write over another");
  auto parent = open_parent(folder.path_);
  if (!parent) return tl::unexpected(parent.error());
  folder.parent_ = std::move(*parent);
  if (auto made = folder.make_in_parent(); !made) return tl::unexpected(made.error());
  folder.has_latest_ = options.run_folder.empty();
  return folder;
}

Result<void> RunFolder::make_inside(const std::string& name) const {
  if (::mkdirat(folder_.number(), name.c_str(), 0700) == 0) return {};
  return fail(ErrorKind::system, (path_ / name).string(), fmt::format("can't be made: {}", std::strerror(errno)));
}

void RunFolder::link() {
  if (!has_latest_) return;
  char target[4096];
  const auto size = ::readlinkat(parent_.number(), latest, target, sizeof target);
  if (size < 0 && errno != ENOENT) {
    fmt::print(stderr, "muster: {} is left as it is, as it is not a link; rename it for a link to the latest run\n",
               printable_line((path_.parent_path() / latest).string(), 2000));
    return;
  }
  former_ = std::string(target, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  is_linked_ = true;
  if (auto linked = replace_symlink(parent_.number(), latest, path_.filename()); !linked)
    fmt::print(stderr, "muster: {}: {}\n", printable_line((path_.parent_path() / latest).string(), 2000),
               linked.error().what);
}

void RunFolder::give_back() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (!is_linked_) return;
  if (former_.empty())
    ::unlinkat(parent_.number(), latest, 0);
  else
    (void)replace_symlink(parent_.number(), latest, former_);
}

SignalsHeld::SignalsHeld() {
  for (std::size_t i = 0; i < std::size(signals); ++i) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signals[i], &ignore, &before_[i]);
  }
}

SignalsHeld::~SignalsHeld() {
  for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before_[i], nullptr);
}

std::vector<int> SignalsHeld::ends() const {
  std::vector<int> heeded;
  for (std::size_t i = 0; i < std::size(signals); ++i)
    if (before_[i].sa_handler != SIG_IGN) heeded.push_back(signals[i]);
  return heeded;
}

int conclude(const RunReport& report) {
  for (const auto& lost : report.unwritten) fmt::print(stderr, "muster: {}\n", printable_line(lost, 2000));
  const auto shown = flush_standard_output();
  if (!shown) fmt::print(stderr, "muster: {}\n", to_string(shown.error()));
  if (!shown && report.interrupted.empty()) return 2;
  return report.exit_status;
}

}  // namespace muster
