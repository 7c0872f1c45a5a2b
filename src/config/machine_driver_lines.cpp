#include "config/machine_driver_lines.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/corruption.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/described_vendor.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

// What the stand-ins know beside the functions of one vendor (tests/house/driver_lines_test.py compares).
constexpr std::string_view calls_of_both =
    "ncclAllReduce ncclCommAbort ncclCommDestroy ncclCommFinalize ncclCommGetAsyncError ncclCommInitRank "
    "ncclCommInitRankConfig ncclGetUniqueId* ncclGetVersion* ncclRecv ncclSend ";
constexpr std::string_view keys_of_values =
    "address clock_memory clock_memory_able clock_sm clock_sm_able compute_mode count dram_corrected "
    "dram_uncorrected ecc ecc_corrected ecc_pending ecc_uncorrected fabric_clique fabric_cluster fabric_code "
    "fabric_health fabric_state firmware "
    "hidden links memory_reserved memory_total memory_used mig mig_instances mig_memory mig_most mig_pending "
    "mig_profiles mig_uuids name nccl_network nccl_notices nccl_version numa nvlink_crc_data nvlink_crc_flit "
    "nvlink_effective_errors nvlink_failed_recoveries nvlink_fec_corrected nvlink_rate nvlink_recoveries "
    "nvlink_replays nvlink_symbol_ber nvlink_symbol_errors nvlink_to nvlink_version nvlinks nvlinks_down "
    "nvlinks_without_state "
    "page_retirement_pending pcie_generation pcie_generation_able pcie_replays pcie_width pcie_width_able peers "
    "persistence power power_limit processes remapped_rows_corrected remapped_rows_uncorrected "
    "retired_pages_corrected retired_pages_uncorrected row_remap_failed row_remap_pending serial slow "
    "sram_corrected sram_uncorrected temperature temperature_slowdown throttle_bits uncorrected unique_id uuid";
constexpr std::string_view kernels_of_training =
    "muster_train_product muster_train_bias muster_train_mask muster_train_sum_rows muster_train_classify "
    "muster_train_tally muster_train_update";

constexpr std::string_view kernels_of_probes =
    "muster_gate muster_copy muster_fill muster_check muster_numbers muster_typed_numbers muster_product "
    "muster_product64 muster_product8 muster_fingerprint";

/// A kind of line. Words: `gpu`, `gpus` (or `all`), `key`, `value` (one or more), `call`, `kernel`, `kernels` (or
/// `all`), `number`, `path`, `hex`. `options` may follow: `gpu`, `kind` with a kind of error behind it, or a word with
/// a number.
struct Shape {
  std::string_view verb;
  std::vector<std::string_view> words;
  std::vector<std::string_view> options;
  std::string_view written;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"set", {"gpus", "key", "value"}, {}, "set GPU KEY VALUE"},
      {"later", {"gpus", "key", "value"}, {"after"}, "later GPU KEY VALUE after N"},
      {"xid", {"gpu", "number"}, {"after"}, "xid GPU CODE [after N]"},
      {"write", {"call", "path", "hex"}, {"after"}, "write CALL PATH HEX [after N]"},
      {"fail", {"call", "number"}, {"gpu", "after"}, "fail CALL CODE [GPU] [after N]"},
      {"hang", {"call"}, {"gpu", "after"}, "hang CALL [GPU] [after N]"},
      {"crash", {"call"}, {"gpu", "after"}, "crash CALL [GPU] [after N]"},
      {"stall", {"call", "number"}, {}, "stall CALL RANK"},
      {"corrupt_copy", {"gpu"}, {"kind", "after", "every"}, "corrupt_copy GPU [kind KIND] [after N] [every N]"},
      {"wrong_kernel", {"gpu", "kernel"}, {"bit", "after"}, "wrong_kernel GPU NAME [bit B] [after N]"},
      {"idle_kernels", {"kernels"}, {}, "idle_kernels all|NAME"},
      {"stuck_bit", {"gpu", "number", "number"}, {}, "stuck_bit GPU OFFSET BIT"},
      {"wrong_product", {"gpu"}, {"kind", "every"}, "wrong_product GPU [kind KIND] [every N]"},
      {"corrupt_allreduce", {"number"}, {}, "corrupt_allreduce RANK"},
  };
  return all;
}

using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  Words words;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

bool is_number(std::string_view text) {
  const bool is_hexadecimal = text.substr(0, 2) == "0x" && text.size() > 2;
  return !text.empty() && text.size() < 19 &&
         text.find_first_not_of(is_hexadecimal ? "0123456789abcdefABCDEFx" : "0123456789") == text.npos;
}

std::string unknown(std::string_view what, const std::string& word, const Words& known) {
  return fmt::format("unknown {} \"{}\"{}", what, printable_line(word, 60), suggestion(word, known));
}

/// One line against its shape; each function returns the error, or an empty text.
class Line {
 public:
  Line(Words words, const DescribedGpus& gpus) : words_(std::move(words)), gpus_(gpus) {}

  std::string fault() {
    Words verbs;
    for (const Shape& shape : shapes()) verbs.emplace_back(shape.verb);
    if (words_.empty()) return "it is empty";
    const auto shape =
        std::find_if(shapes().begin(), shapes().end(), [&](const Shape& one) { return one.verb == words_.front(); });
    if (shape == shapes().end()) return unknown("line", words_.front(), verbs);
    words_.erase(words_.begin());
    std::string wrong = match(*shape);
    return wrong.empty() ? wrong : fmt::format("{}; written {}", wrong, shape->written);
  }

 private:
  std::string match(const Shape& shape) {
    for (const std::string_view word : shape.words) {
      if (words_.empty()) return fmt::format("it has no {}", name_of(word));
      if (std::string wrong = check(word); !wrong.empty()) return wrong;
      words_.erase(words_.begin());
      // A value may be several words, up to those of the options.
      while (word == "value" && !words_.empty() && !is_option(shape)) words_.erase(words_.begin());
    }
    bool has_options = false;
    while (!words_.empty() && is_option(shape)) {
      if (std::string wrong = check_option(); !wrong.empty()) return wrong;
      has_options = true;
    }
    if (!words_.empty()) return fmt::format("\"{}\" has no place in it", printable_line(words_.front(), 60));
    return shape.verb == "later" && !has_options ? std::string("it has no \"after N\"") : std::string();
  }

  static std::string_view name_of(std::string_view word) {
    if (word == "gpu" || word == "gpus") return "number of a GPU";
    if (word == "call") return "function";
    return word;
  }

  [[nodiscard]] bool is_option(const Shape& shape) const {
    const auto has = [&](std::string_view option) { return is_in(option, shape.options); };
    return has(words_.front()) || (has("gpu") && is_number(words_.front()));
  }

  std::string check_option() {
    if (is_number(words_.front())) {
      if (is_of_no_gpu_) return fmt::format("{} is about no GPU, and the line names GPU {}", call_, words_.front());
      if (std::string wrong = check("gpu"); !wrong.empty()) return wrong;
    } else {
      const std::string option = words_.front();
      words_.erase(words_.begin());
      if (option == "kind") {
        if (words_.empty()) return "\"kind\" has no kind behind it";
        if (std::string wrong = among("kind of error", fmt::format("{}", fmt::join(corruption_kinds, " ")));
            !wrong.empty())
          return wrong;
      } else if (words_.empty() || !is_number(words_.front()) ||
                 (option == "every" && std::strtoull(words_.front().c_str(), nullptr, 0) == 0))
        return fmt::format("\"{}\" has no number behind it{}", option, option == "every" ? ", 1 or more" : "");
    }
    words_.erase(words_.begin());
    return {};
  }

  std::string check(std::string_view word) {
    const std::string& text = words_.front();
    const std::string shown = printable_line(text, 60);
    if (word == "gpus" && text == "all") return {};
    if (word == "gpu" || word == "gpus") {
      if (is_number(text) && std::strtoull(text.c_str(), nullptr, 0) < gpus_.devices.size()) return {};
      return fmt::format("\"{}\" is not a number of a GPU from 0 to {}", shown, gpus_.devices.size() - 1);
    }
    if (word == "number") return is_number(text) ? std::string() : fmt::format("\"{}\" is not a number", shown);
    if (word == "key") return among("value", keys_of_values);
    if (word == "kernel") return among("kernel", kernels_of_training);
    if (word == "kernels")
      return text == "all" ? std::string()
                           : among("kernel", fmt::format("{} {}", kernels_of_probes, kernels_of_training));
    if (word == "call") return check_call();
    if (word == "path")
      return text.front() == '/' || text.find("..") != text.npos
                 ? fmt::format("\"{}\" is not a path below the machine's root, such as sys/class/drm", shown)
                 : std::string();
    if (word == "hex" && (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos))
      return fmt::format("\"{}\" is not bytes in hexadecimal, two digits each", shown);
    return {};
  }

  [[nodiscard]] std::string among(std::string_view what, std::string_view known) const {
    const Words all = words_of(known);
    return !is_in(words_.front(), all) ? unknown(what, words_.front(), all) : std::string();
  }

  /// Whether one of `known` is the call; its mark is interpreted.
  bool is_among(const Words& known) {
    for (const std::string& name : known) {
      const bool is_marked = name.back() == '*';
      if (name.substr(0, name.size() - (is_marked ? 1 : 0)) != call_) continue;
      is_of_no_gpu_ = is_marked;
      return true;
    }
    return false;
  }

  std::string check_call() {
    call_ = words_.front();
    const GpuVendor& vendor = terms_of_vendor(gpus_.vendor);
    Words own = words_of(vendor.described == nullptr ? "" : vendor.described->calls);
    const Words both = words_of(calls_of_both);
    own.insert(own.end(), both.begin(), both.end());
    if (is_among(own)) return {};
    for (const GpuVendor* other : gpu_vendors())
      if (other->described != nullptr && other->name != vendor.name && is_among(words_of(other->described->calls)))
        return fmt::format("{} is a function of another vendor, and the GPUs are {}'s", call_, vendor.maker);
    for (std::string& name : own)
      if (name.back() == '*') name.pop_back();
    return unknown(fmt::format("function of {}'s libraries", vendor.maker), call_, own);
  }

  Words words_;
  const DescribedGpus& gpus_;
  std::string call_;
  bool is_of_no_gpu_ = false;
};

}  // namespace

std::vector<std::string> read_driver_lines(Fields& fields, const DescribedGpus& gpus) {
  std::vector<std::string> lines = fields.texts("driver");
  const Entry* entry = fields.find("driver");
  if (entry == nullptr || (gpus.vendor.empty() && !gpus.devices.empty())) return lines;
  for (const Node& item : entry->value.items) {
    if (item.kind != NodeKind::text) continue;
    if (gpus.devices.empty()) {
      fields.complain(item.at, "there is no GPU whose libraries could follow this line");
      continue;
    }
    if (const std::string wrong = Line(words_of(item.text), gpus).fault(); !wrong.empty())
      fields.complain(item.at, fmt::format("\"{}\": {}", printable_line(item.text, 80), wrong));
  }
  return lines;
}

}  // namespace muster
