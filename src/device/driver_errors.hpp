/// Errors to which a vendor's driver gives numbers, such as Xids, and how each is judged.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "muster/verdict.hpp"

namespace muster {

/// One error of one GPU, as the kernel's log has it.
struct LoggedError {
  int code = 0;
  std::string_view message;  ///< the driver's line
};

struct ErrorMeaning {
  int code = 0;
  Verdict verdict = Verdict::fail;  ///< pass: a note
  std::string words;                ///< `an uncorrected memory error`
  std::string remedy;               ///< a sentence without a full stop
};

/// The numbers of one driver.
struct DriverErrors {
  std::string_view kind;   ///< of KernelEvent; empty: the driver numbers no errors
  std::string_view label;  ///< before a number: `Xid`
  /// `message` may be empty: only the number is known. `others`: numbers of the same GPU.
  ErrorMeaning (*meaning)(int code, std::string_view message, std::span<const LoggedError> others) = nullptr;
  /// Whether messages with this number differ in what they mean, so that each counts for itself.
  bool (*has_subcode)(int code) = nullptr;
  int recovery = 0;  ///< announces the recovery that the GPU needs: the latest counts
};

/// Those of the kind; nullptr: no driver has such.
[[nodiscard]] const DriverErrors* find_driver_errors(std::string_view kind);
/// Of all vendors, `Xid`: what a log holds that can't be read.
[[nodiscard]] std::string labels_of_driver_errors();

}  // namespace muster
