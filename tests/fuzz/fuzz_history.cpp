// A history that was damaged or written by another user. The first byte chooses: 0 takes the rest as the file; 1 has
// bytes of a good file replaced (offset: 3 bytes, value: 1); else the rest becomes the text of a column. Its highest
// bit opens the file to write, else to read. Whatever it is, each question is answered or refused with the file's name.
#include <SQLiteCpp/SQLiteCpp.h>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "history/past_runs.hpp"
#include "history/store.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

/// In memory: nothing waits for a disk. In a folder of its own, as none beside which others may put a journal is taken.
const std::string& folder() {
  // Never destroyed: it is used at the very end.
  static const auto* const one = [] {
    const auto* const path = new std::string("/dev/shm/fuzz_history." + std::to_string(::getpid()));
    fs::create_directory(*path);
    fs::permissions(*path, fs::perms::owner_all);
    std::atexit([] { fs::remove_all(folder()); });
    return path;
  }();
  return *one;
}

const std::string& file() {
  static const std::string one = folder() + "/history.db";
  return one;
}

void remove_file() {
  for (const char* end : {"", "-wal", "-shm", "-journal"}) ::unlink((file() + end).c_str());
}

void write_whole(std::string_view bytes) {
  const int descriptor = ::open(file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(descriptor >= 0 && ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(descriptor);
}

std::string make_good() {
  remove_file();
  {
    auto history = History::open(file(), HistoryUse::write);
    require(history.has_value());
    for (int day = 1; day < 4; ++day) require(history->record(test::a_run(day, 100 + day)).has_value());
    require(history->record_skipped("2026-11-09T02:00:00.000Z", "another run", {"muster", "run"}).has_value());
    require(history->record_action({"2026-11-09T03:00:00.000Z", "nid001", "drain", "slow", "muster", "done", "000001"})
                .has_value());
    require(history->record_accepted({"2026-11-01T00:00:00.000Z", "nid001", "triad"}).has_value());
  }
  const auto bytes = read_file(file());
  require(bytes.has_value());
  return *bytes;
}

const std::string& good() {
  static const std::string one = make_good();
  return one;
}

void replace_bytes(std::string_view input) {
  std::string bytes = good();
  for (std::size_t at = 0; at + 4 <= input.size(); at += 4) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < 3; ++i) offset = offset << 8 | static_cast<unsigned char>(input[at + i]);
    bytes[offset % bytes.size()] = input[at + 3];
  }
  write_whole(bytes);
}

void replace_text(unsigned which, std::string_view text) {
  constexpr const char* changes[] = {"run SET head = ? WHERE number = 2",
                                     "run SET started = ? WHERE number = 2",
                                     "run SET host = ? WHERE number = 2",
                                     "run SET is_skipped = ? WHERE number = 2",
                                     "case_result SET facts = ? WHERE run = 2",
                                     "name SET text = ? WHERE id = 2",
                                     "verdict SET verdict = ? WHERE run = 2",
                                     "verdict SET is_device = ? WHERE run = 2",
                                     "configuration SET facts = ?",
                                     "series SET labels = ? WHERE id = 1",
                                     "series SET kind = ? WHERE id = 1",
                                     "series SET node = ? WHERE id = 1",
                                     "series SET better = ?",
                                     "value SET value = ? WHERE run = 2",
                                     "value SET use = ? WHERE run = 2",
                                     "value SET samples = ? WHERE run = 2",
                                     "action SET facts = ?",
                                     "action SET time = ?",
                                     "accepted SET time = ?",
                                     "accepted SET item = ?"};
  write_whole(good());
  SQLite::Database database(file(), SQLite::OPEN_READWRITE);
  SQLite::Statement change(database, fmt::format("UPDATE {}", changes[which % std::size(changes)]));
  change.bind(1, std::string(text));
  (void)change.exec();
}

template <class T>
bool hold(const Result<T>& result) {
  if (!result)
    require(result.error().where == file() && !result.error().what.empty() &&
            printable_line(result.error().what, 4000) == result.error().what);
  return result.has_value();
}

void ask(History& history) {
  const auto runs = history.runs();
  if (hold(runs))
    for (const RunLine& line : *runs) (void)hold(history.run(line.number));
  (void)hold(history.series({}));
  SeriesQuery query;
  query.metric = "triad";
  query.item = "nid001";
  (void)hold(history.series(query));
  query.case_ids = {"memory_bandwidth"};
  (void)hold(history.series(query));
  (void)hold(history.verdicts());
  (void)hold(history.actions());
  (void)hold(history.accepted());
}

void write(History& history) {
  (void)hold(history.record(test::a_run(9, 90)));
  (void)hold(history.record_action({"2026-11-09T03:00:00.000Z", "nid002", "resume", "", "muster", "done", ""}));
  (void)hold(history.prune("2026-11-02T00:00:00.000Z"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)good();
  remove_file();
  constexpr unsigned to_write = 0x80;
  const unsigned choice = data[0] & ~to_write;
  try {
    if (choice == 0)
      write_whole(rest);
    else if (choice == 1)
      replace_bytes(rest);
    else
      replace_text(choice - 2u, rest);
  } catch (const SQLite::Exception&) {
    // What SQLite does not store never gets there.
    return 0;
  }
  if ((data[0] & to_write) == 0) {
    if (auto history = History::open(file(), HistoryUse::read); hold(history)) ask(*history);
    return 0;
  }
  if (auto history = History::open(file(), HistoryUse::write); hold(history)) {
    write(*history);
    ask(*history);
  }
  return 0;
}
