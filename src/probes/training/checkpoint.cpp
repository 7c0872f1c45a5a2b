#include "probes/training/checkpoint.hpp"

#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/pattern.hpp"

namespace muster::training {

namespace {

constexpr std::string_view magic = "MUSTRAIN";
constexpr std::uint32_t version = 2;
constexpr std::string_view wrapped = "module.";
constexpr std::string_view velocity_prefix = "velocity.";

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum = p2p::mix(sum ^ word);
  }
  return sum;
}

/// What makes a training this one and no other, as name and number.
std::vector<std::pair<std::string, std::uint64_t>> traits(const Identity& identity) {
  const Settings& s = identity.settings;
  return {{"seed", s.seed},
          {"number of features", static_cast<std::uint64_t>(s.features)},
          {"number of classes", static_cast<std::uint64_t>(s.classes)},
          {"width of the hidden layers", static_cast<std::uint64_t>(s.hidden)},
          {"number of samples", static_cast<std::uint64_t>(s.samples)},
          {"batch", static_cast<std::uint64_t>(s.batch)},
          {"learning rate", std::bit_cast<std::uint32_t>(s.rate)},
          {"momentum", std::bit_cast<std::uint32_t>(s.momentum)},
          {"data set", identity.data}};
}

std::string show(const std::string& trait, std::uint64_t number) {
  if (trait == "learning rate" || trait == "momentum")
    return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(number)));
  return trait == "data set" ? fmt::format("{:016x}", number) : std::to_string(number);
}

void put_bytes(std::string& out, const void* from, std::size_t count) {
  out.append(static_cast<const char*>(from), count);
}

template <class T>
void put(std::string& out, T number) {
  put_bytes(out, &number, sizeof number);
}

void put_tensors(std::string& out, const Layout& layout, const std::vector<float>& values, const std::string& prefix) {
  for (const Layout::Tensor& tensor : layout.tensors) {
    const std::string name = prefix + tensor.name;
    put(out, static_cast<std::uint32_t>(name.size()));
    put_bytes(out, name.data(), name.size());
    put(out, static_cast<std::uint64_t>(tensor.count));
    put_bytes(out, values.data() + tensor.offset, tensor.count * sizeof(float));
  }
}

tl::unexpected<Error> refused(std::string why) {
  return fail(ErrorKind::file, "checkpoint", std::move(why));
}

/// Takes bytes from the front; afterwards `is_whole` is false if they were missing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = text(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text(std::uint64_t count) {
    if (count > left_.size()) {
      is_whole = false;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

  bool is_whole = true;

 private:
  std::string_view left_;
};

/// The tensors of `layout` in order, each name with `prefix` before it, and before that `module.` or not, but alike in
/// all.
Result<void> read_tensors(Reader& from, const Layout& layout, std::string_view prefix, std::optional<bool>& is_wrapped,
                          std::vector<float>& values) {
  values.assign(layout.size, 0.0f);
  for (const Layout::Tensor& tensor : layout.tensors) {
    std::string_view name = from.text(from.number<std::uint32_t>());
    const auto count = from.number<std::uint64_t>();
    if (!from.is_whole) return refused("it is cut short");
    const bool has_prefix = name.starts_with(wrapped);
    if (!is_wrapped) is_wrapped = has_prefix;
    if (has_prefix != *is_wrapped) return refused("some names of parameters start with \"module.\", others do not");
    if (has_prefix) name.remove_prefix(wrapped.size());
    if (name != std::string(prefix) + tensor.name)
      return refused(fmt::format("it has \"{}\" where \"{}{}\" is due", printable_line(name, 60), prefix, tensor.name));
    if (count != tensor.count)
      return refused(fmt::format("{}{} has {} numbers, not {}", prefix, tensor.name, count, tensor.count));
    const std::string_view bytes = from.text(count * sizeof(float));
    if (!from.is_whole) return refused("it is cut short");
    std::memcpy(values.data() + tensor.offset, bytes.data(), bytes.size());
  }
  return {};
}

}  // namespace

bool is_checkpoint(std::string_view bytes) {
  return bytes.starts_with(magic);
}

std::string encode(const Identity& identity, const Checkpoint& checkpoint, std::string_view prefix) {
  std::string out(magic);
  put(out, version);
  for (const auto& [name, number] : traits(identity)) put(out, number);
  put(out, static_cast<std::int32_t>(checkpoint.epoch));
  put(out, static_cast<std::int32_t>(checkpoint.writer));
  put(out, checkpoint.run);
  put_tensors(out, identity.layout, checkpoint.state.parameters, std::string(prefix));
  put_tensors(out, identity.layout, checkpoint.state.velocity, std::string(prefix) + std::string(velocity_prefix));
  put(out, checksum(out));
  return out;
}

Result<Checkpoint> decode(const Identity& identity, std::string_view bytes) {
  Reader from(bytes);
  if (from.text(magic.size()) != magic) return refused("this is not a checkpoint of probe training");
  const auto written = from.number<std::uint32_t>();
  if (!from.is_whole) return refused("it is cut short");
  if (written != version) return refused(fmt::format("it is of version {}, this program reads {}", written, version));
  for (const auto& [name, number] : traits(identity)) {
    const auto other = from.number<std::uint64_t>();
    if (!from.is_whole) return refused("it is cut short");
    if (other != number)
      return refused(
          fmt::format("it is of another training: its {} is {}, not {}", name, show(name, other), show(name, number)));
  }
  std::uint64_t sum = 0;
  if (bytes.size() >= sizeof sum) std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  const bool is_right = bytes.size() >= sizeof sum && checksum(bytes.substr(0, bytes.size() - sizeof sum)) == sum;
  Checkpoint checkpoint;
  checkpoint.epoch = from.number<std::int32_t>();
  checkpoint.writer = from.number<std::int32_t>();
  checkpoint.run = from.number<std::uint64_t>();
  std::optional<bool> is_wrapped;
  if (auto read = read_tensors(from, identity.layout, "", is_wrapped, checkpoint.state.parameters); !read)
    return tl::unexpected(read.error());
  if (auto read = read_tensors(from, identity.layout, velocity_prefix, is_wrapped, checkpoint.state.velocity); !read)
    return tl::unexpected(read.error());
  from.number<std::uint64_t>();
  if (!from.is_whole || !from.is_at_end())
    return refused(from.is_whole ? "it is longer than it should be" : "it is cut short");
  if (!is_right) return refused("its checksum is wrong: it was damaged after it was written");
  if (checkpoint.epoch < 0) return refused(fmt::format("its epoch is {}", checkpoint.epoch));
  return checkpoint;
}

}  // namespace muster::training
