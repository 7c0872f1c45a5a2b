#include "device/nvidia/xid.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/number.hpp"
#include "device/nvidia/xid_catalogue.hpp"

namespace muster {

namespace {

constexpr std::string_view ask =
    "collect nvidia-bug-report.sh on the node and ask NVIDIA's support; run no jobs there until it is explained";

std::string_view remedy_of(XidAction action) {
  switch (action) {
    case XidAction::ignore:
      return "nothing is to be done about it by itself";
    case XidAction::restart_app:
      return "check the program (compute-sanitizer); if it recurs with other programs, reset the GPU";
    case XidAction::reset_gpu:
      return "drain the node and reset the GPU or reboot; have it replaced if it recurs";
    case XidAction::restart_vm:
      return "drain the node and restart its virtual machine; reset the GPU if it recurs";
    case XidAction::restart_node:
      return "drain and power-cycle the node; have the GPU reseated, then replaced, if it recurs";
    case XidAction::check_power:
      return "have the power cables of the board checked, then power-cycle the node";
    case XidAction::update:
      return "update driver, firmware and virtual GPU software to versions that belong together";
    case XidAction::none:
    case XidAction::contact_support:
    case XidAction::workflow:
      break;
  }
  return ask;
}

Verdict verdict_of(XidAction action) {
  switch (action) {
    case XidAction::ignore:
    case XidAction::restart_app:
      return Verdict::pass;
    case XidAction::none:
      return Verdict::unmeasured;
    default:
      return Verdict::fail;
  }
}

XidMeaning meaning_of(int code, XidAction action, std::string words) {
  return {code, verdict_of(action), std::move(words), std::string(remedy_of(action))};
}

/// The hexadecimal number that `text` begins with.
std::optional<std::uint32_t> hex_number(std::string_view text) {
  return text.starts_with("0x") ? leading_number<std::uint32_t>(text.substr(2), 16) : std::nullopt;
}

/// `... changed from 0x0 (None) to 0x1 (GPU Reset Required)`: the number behind `to`.
std::optional<std::uint32_t> recovery_in(std::string_view message) {
  const auto at = message.rfind(" to 0x");
  return at == message.npos ? std::nullopt : hex_number(message.substr(at + 4));
}

const LoggedXid* find(std::span<const LoggedXid> others, int code) {
  const auto found =
      std::find_if(others.rbegin(), others.rend(), [&](const LoggedXid& one) { return one.code == code; });
  return found == others.rend() ? nullptr : &*found;
}

XidMeaning recovery_meaning(std::string_view message) {
  constexpr int code = 154;
  constexpr std::uint32_t none = 0, reset = 1, reboot = 2, drain_peers = 3, drain = 4;
  const auto action = recovery_in(message);
  if (action == none) return meaning_of(code, XidAction::ignore, "the driver no longer requests a recovery of the GPU");
  auto meaning = meaning_of(code, XidAction::reset_gpu, "the driver requests a recovery of the GPU");
  if (action == reset || action == drain) meaning.words = "the driver requests a reset of the GPU";
  if (action == drain_peers) meaning.words = "the driver asks to end all programs that share memory with the GPU";
  if (action == reboot) {
    meaning.words = "the driver requests a reboot of the node";
    meaning.remedy = "drain and reboot the node; have the GPU replaced if it recurs";
  }
  return meaning;
}

bool is_matched(std::uint32_t word, LowBits bits) {
  return (word & ((std::uint32_t{1} << bits.count) - 1)) == bits.value;
}

const NvlinkSubcode* find_subcode(int xid, std::uint32_t info, std::uint32_t status) {
  constexpr std::uint32_t reason_at = 20, reason_mask = 0x3f;
  for (const NvlinkSubcode& one : nvlink_subcodes())
    if (one.xid == xid && one.status == status && one.reason == ((info >> reason_at) & reason_mask) &&
        (is_matched(info, one.unit_bits) || is_matched(info, one.newer_unit_bits)))
      return &one;
  return nullptr;
}

/// The driver's recovery action; without one the worst is assumed.
XidAction settled(XidAction action, std::span<const LoggedXid> others) {
  if (action != XidAction::workflow) return action;
  const LoggedXid* recovery = find(others, 154);
  return recovery != nullptr && recovery_meaning(recovery->message).verdict == Verdict::pass ? XidAction::ignore
                                                                                             : XidAction::reset_gpu;
}

/// `... (0x004505c6 0x00000000 ...)`: the worst of the status' bits, where they are not one sub-code together.
XidMeaning nvlink_meaning(const XidEntry& entry, std::string_view message, std::span<const LoggedXid> others) {
  XidMeaning unknown = meaning_of(entry.code, XidAction::reset_gpu, std::string(entry.words));
  const auto open = message.find("(0x");
  const auto info = open == message.npos ? std::nullopt : hex_number(message.substr(open + 1));
  const auto space = message.find(' ', std::min(open, message.size()));
  const auto status = space == message.npos ? std::nullopt : hex_number(message.substr(space + 1));
  if (!info || !status) return unknown;
  const bool is_fatal = message.find(" Fatal ") != message.npos;
  const auto meaning_for = [&](std::uint32_t one) -> std::optional<XidMeaning> {
    const NvlinkSubcode* known = find_subcode(entry.code, *info, one);
    if (known == nullptr) return std::nullopt;
    return meaning_of(entry.code, settled(is_fatal ? known->if_fatal : known->action, others),
                      fmt::format("{}, unit {}, status {:#x}", entry.words, known->unit, *status));
  };
  if (auto whole = meaning_for(*status)) return *whole;
  unknown.words += fmt::format(", status {:#x}, which muster's catalogue lacks", *status);
  std::optional<XidMeaning> worst;
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
    if ((*status & bit) == 0) continue;
    const auto part = meaning_for(bit);
    if (!part) return unknown;
    if (!worst || part->verdict == Verdict::fail) worst = part;
  }
  return worst.value_or(unknown);
}

std::string accompanied_by(std::string_view words, int other) {
  return fmt::format("{}, with Xid {}", words, other);
}

/// Numbers that only accompany others, and are judged by themselves where they are alone.
XidMeaning workflow_meaning(const XidEntry& entry, std::string_view message, std::span<const LoggedXid> others) {
  constexpr int cleanup = 45, double_bit = 48, contained = 94, recovery = 154, coherent = 159;
  constexpr int first_nvlink = 144, last_nvlink = 150;
  const std::string words(entry.words);
  if (entry.code == recovery) return recovery_meaning(message);
  if (entry.code >= first_nvlink && entry.code <= last_nvlink) return nvlink_meaning(entry, message, others);
  if (entry.code == cleanup || entry.code == coherent) {
    for (const LoggedXid& other : others)
      if (other.code != cleanup && other.code != coherent)
        return meaning_of(entry.code, XidAction::ignore, accompanied_by(words, other.code));
    auto alone = meaning_of(entry.code, XidAction::reset_gpu, words + ", and no other Xid names it");
    if (entry.code == cleanup)
      alone.remedy =
          "restart the fabric manager (systemctl restart nvidia-fabricmanager) where there is one, else reset the GPU";
    return alone;
  }
  // Contained in one program, and nothing worse came with it.
  const auto is_worse = [](const LoggedXid& other) {
    return other.code == 63 || other.code == 64 || other.code == 95 || other.code == 140;
  };
  const LoggedXid* recovers = find(others, recovery);
  if (entry.code == double_bit && find(others, contained) != nullptr &&
      std::none_of(others.begin(), others.end(), is_worse) &&
      (recovers == nullptr || recovery_meaning(recovers->message).verdict == Verdict::pass))
    return meaning_of(entry.code, XidAction::restart_app, accompanied_by(words, contained));
  auto meaning = meaning_of(entry.code, XidAction::reset_gpu, words);
  constexpr int nvlink = 74;
  if (entry.code == nvlink)
    meaning.remedy =
        "drain the node, see the link's counters (nvidia-smi nvlink -e), reset all GPUs of the node; have "
        "bridge or board replaced if it recurs";
  return meaning;
}

}  // namespace

bool has_nvlink_subcode(int code) {
  constexpr int first = 144, last = 150;
  return code >= first && code <= last;
}

XidMeaning xid_meaning(int code, std::string_view message, std::span<const LoggedXid> others) {
  const auto catalogue = xid_catalogue();
  if (code < 1 || static_cast<std::size_t>(code) > catalogue.size())
    return {code, Verdict::unmeasured, "an error that muster's catalogue lacks",
            "look it up in NVIDIA's list of Xid errors"};
  const XidEntry& entry = catalogue[static_cast<std::size_t>(code) - 1];
  if (entry.action == XidAction::workflow) return workflow_meaning(entry, message, others);
  const bool is_unused = entry.words.empty();
  if (is_unused && entry.action == XidAction::contact_support)
    return {code, Verdict::unmeasured, "a number that today's drivers don't use", std::string(ask)};
  auto meaning =
      meaning_of(code, entry.action, std::string(is_unused ? "a number without a meaning today" : entry.words));
  constexpr int remap_failed = 64, gsp_timeout = 119, gsp_error = 120;
  if (code == remap_failed) meaning.remedy = "drain the node and have the GPU replaced";
  if (code == gsp_timeout || code == gsp_error)
    meaning.remedy = "drain and reboot the node; update driver and firmware if it recurs";
  return meaning;
}

}  // namespace muster
