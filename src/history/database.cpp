#include "history/database.hpp"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <thread>
#include <unistd.h>

#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "history/schema.hpp"

namespace muster {

namespace {

constexpr int patience_ms = 30'000;
/// In the file's head: it is a history of muster's and nothing else ("must").
constexpr int application = 0x6d757374;

/// Even who only reads needs room beside the file, for the index of the log; SQLite calls its lack an I/O error.
bool is_on_full_disk(const fs::path& file) {
  constexpr std::uintmax_t room = 64 * 1024;
  std::error_code failed;
  const auto space = fs::space(file.has_parent_path() ? file.parent_path() : fs::path("."), failed);
  return !failed && space.available < room;
}

/// Where memory is not shared between the hosts that have the file open, a write-ahead log must not be used: it keeps
/// its index there (sqlite.org/wal.html).
bool is_on_network(const fs::path& file) {
  struct statfs found {};
  const auto folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (::statfs(folder.c_str(), &found) != 0) return false;
  switch (static_cast<std::uint32_t>(found.f_type)) {
    case 0x6969:      // NFS
    case 0x0bd00bd0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00c36400:  // Ceph
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x5346414f:  // AFS
    case 0xaad7aaea:  // PanFS
    case 0x65735546:  // FUSE: sshfs and the like
      return true;
    default:
      return false;
  }
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

/// To change the journal SQLite wants the file for itself, and does not wait for it.
void choose_journal(SQLite::Database& database, const fs::path& file) {
  const std::string wanted = is_on_network(file) ? "delete" : "wal";
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  while (true) {
    try {
      if (database.execAndGet("PRAGMA journal_mode").getString() == wanted) return;
      // Another one is a lesser evil than no history: not every file system takes the log.
      (void)database.execAndGet("PRAGMA journal_mode=" + wanted);
      return;
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY && error.getErrorCode() != SQLITE_LOCKED) throw;
    }
    if (std::chrono::steady_clock::now() > end) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<void> check_owner(SQLite::Database& database, const fs::path& file) {
  const int tables = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt();
  const int owner = pragma(database, "application_id");
  if (tables > 0 && owner != application)
    return fail(ErrorKind::file, file.string(),
                "is a database of another program; name another file with --history, nothing was changed in it");
  const int schema = pragma(database, "user_version");
  if (schema > history_schema)
    return fail(ErrorKind::file, file.string(),
                fmt::format("was written by a newer muster (schema {}, this one knows {}); use that one, or another "
                            "file with --history",
                            schema, history_schema));
  return {};
}

/// Looks again under the lock: another process may have been quicker.
Result<void> bring_up_to_date(SQLite::Database& database, const fs::path& file) {
  if (pragma(database, "user_version") == history_schema) return {};
  SQLite::Transaction change(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (auto checked = check_owner(database, file); !checked) return checked;
  const auto steps = schema_steps();
  for (auto at = static_cast<std::size_t>(pragma(database, "user_version")); at < steps.size(); ++at)
    database.exec(steps[at]);
  database.exec(fmt::format("PRAGMA application_id={}", application));
  database.exec(fmt::format("PRAGMA user_version={}", history_schema));
  change.commit();
  return {};
}

/// A new one is for its owner alone, and so are the files that SQLite puts beside it: users who can read it could keep
/// us from writing by their locks. One that is there keeps its mode: a group may share it.
void make_private(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor >= 0) ::close(descriptor);
}

/// A folder that can't be written has no place for the log's index; without a log there is nothing to miss.
std::unique_ptr<SQLite::Database> open_to_read(const fs::path& file) {
  try {
    auto database = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READONLY, patience_ms);
    (void)database->execAndGet("SELECT count(*) FROM sqlite_master");
    return database;
  } catch (const SQLite::Exception& error) {
    std::error_code ignored;
    const bool has_log = fs::exists(file.string() + "-wal", ignored);
    if ((error.getErrorCode() != SQLITE_CANTOPEN && error.getErrorCode() != SQLITE_READONLY) || has_log) throw;
  }
  std::string escaped;
  for (const char letter : file.string())
    escaped +=
        letter == '?' || letter == '#' || letter == '%' ? fmt::format("%{:02x}", letter) : std::string(1, letter);
  return std::make_unique<SQLite::Database>("file:" + escaped + "?immutable=1",
                                            SQLite::OPEN_READONLY | SQLite::OPEN_URI, patience_ms);
}

/// SQLite waits at a pipe.
Result<void> check_beside(const fs::path& file) {
  for (const char* end : {"-journal", "-wal", "-shm"}) {
    const fs::path beside = file.string() + end;
    struct stat about {};
    if (::lstat(beside.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
      return fail(ErrorKind::file, file.string(),
                  fmt::format("is not used: {} beside it is not a regular file; remove that", beside.string()));
  }
  return {};
}

}  // namespace

Error history_error(const fs::path& file, const SQLite::Exception& error) {
  const auto message = [&](ErrorKind kind, const char* what) {
    return Error{kind, file.string(), fmt::format("{} ({})", what, printable_line(error.what(), 400))};
  };
  constexpr const char* full = "no space is left for the history; free some, or name another file with --history";
  if (error.getErrorCode() == SQLITE_IOERR && is_on_full_disk(file)) return message(ErrorKind::system, full);
  switch (error.getErrorCode()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return message(ErrorKind::file,
                     "is damaged or not a history; move it away, and restore an export with muster history import");
    case SQLITE_FULL:
      return message(ErrorKind::system, full);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return message(ErrorKind::system,
                     "can't be written; change its permissions, or name another file with --history");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return message(ErrorKind::system, "is in use by others for longer than 30 s");
    case SQLITE_CANTOPEN:
      return message(ErrorKind::file, "can't be opened; name another file with --history");
    default:
      return message(ErrorKind::system, "the history can't be used");
  }
}

Result<std::unique_ptr<SQLite::Database>> open_database(const fs::path& file, HistoryUse use) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    return fail(ErrorKind::file, file.string(), "is a folder; name a file with --history");
  const bool is_there = fs::exists(file, ignored);
  if (use != HistoryUse::write && !is_there)
    return fail(ErrorKind::file, file.string(),
                "is not there: no run has been stored yet (muster gate stores none; muster history --history FILE "
                "import muster-runs/* adds them)");
  // SQLite would wait at a pipe for a writer.
  if (is_there && !fs::is_regular_file(file, ignored))
    return fail(ErrorKind::file, file.string(), "is a pipe or a device; name a regular file with --history");
  if (use == HistoryUse::read) {
    if (auto beside = check_beside(file); !beside) return tl::unexpected(beside.error());
    auto database = open_to_read(file);
    if (auto checked = check_owner(*database, file); !checked) return tl::unexpected(checked.error());
    // What an older muster left is brought up to date by the next one that may write.
    if (pragma(*database, "user_version") == history_schema) return database;
  }
  const bool is_new = file.has_parent_path() && !fs::exists(file.parent_path(), ignored);
  if (is_new)
    if (auto own = check_own_folder(file.parent_path()); !own) return tl::unexpected(own.error());
  if (is_new)
    if (auto made = make_folder(file.parent_path()); !made)
      return fail(ErrorKind::system, file.string(), to_string(made.error()));
  const auto own = own_database(file);
  if (!own) return tl::unexpected(own.error());
  if (auto beside = check_beside(*own); !beside) return tl::unexpected(beside.error());
  make_private(*own);
  auto database =
      std::make_unique<SQLite::Database>(own->string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, patience_ms);
  if (auto checked = check_owner(*database, file); !checked) return tl::unexpected(checked.error());
  choose_journal(*database, file);
  // Confirmed data survives a power failure, too.
  database->exec("PRAGMA synchronous=FULL");
  if (auto done = bring_up_to_date(*database, file); !done) return tl::unexpected(done.error());
  return database;
}

}  // namespace muster
