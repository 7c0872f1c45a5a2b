/// Errors as values. Exceptions of libraries end at their door and become one of these.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

/// The kind of failure, in terms of the required reaction.
enum class ErrorKind {
  usage,     ///< the command line: exit status 3
  file,      ///< a check, profile or run file: exit status 3, `where` is file:line:column
  launch,    ///< a launcher or program could not be started
  system,    ///< the operating system refused (disk, memory, permission)
  protocol,  ///< bytes on the wire or in the spool are not what they should be
  device,    ///< an accelerator or its library refused
  internal,  ///< a promise of our own was broken
};

/// `what` is a sentence without a full stop, with what to do instead where that is known.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string where;  ///< `file:line:column`, a path, a program; may be empty
  std::string what;
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string where, std::string what) {
  return tl::unexpected<Error>(Error{kind, std::move(where), std::move(what)});
}

/// `where: what`, or just `what` when there is no place.
[[nodiscard]] inline std::string to_string(const Error& error) {
  return error.where.empty() ? error.what : error.where + ": " + error.what;
}

}  // namespace muster
