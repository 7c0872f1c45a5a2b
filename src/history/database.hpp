/// The file underneath: opened, checked, and brought to this muster's schema. For the .cpp files of this folder.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <string>

#include "history/store.hpp"

namespace muster {

/// Of what this muster writes; docs/history.md lists the changes.
inline constexpr int history_schema = 2;

[[nodiscard]] Error history_error(const fs::path& file, const SQLite::Exception& error);

/// Runs `act`, which may throw what SQLite throws, and makes it an Error of ours.
template <class Act>
auto guarded(const fs::path& file, Act act) -> Result<decltype(act())> {
  try {
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      return {};
    } else {
      return act();
    }
  } catch (const SQLite::Exception& error) {
    return tl::unexpected(history_error(file, error));
  }
}

/// Throws what SQLite throws; everything that is ours comes back as a value.
[[nodiscard]] Result<std::unique_ptr<SQLite::Database>> open_database(const fs::path& file, HistoryUse use);

}  // namespace muster
