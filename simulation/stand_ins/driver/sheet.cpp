#include "sheet.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace fake {

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// `set GPU KEY VALUE...`, `set all KEY VALUE...`
void set_value(const std::vector<std::string>& words, Sheet& sheet) {
  if (words.size() < 4) return;
  std::string value = words[3];
  for (std::size_t i = 4; i < words.size(); ++i) value += " " + words[i];
  if (words[1] == "all") {
    sheet.values[words[2]] = value;
    return;
  }
  const std::size_t index = std::strtoul(words[1].c_str(), nullptr, 10);
  if (index < sheet.devices.size()) sheet.devices[index].values[words[2]] = value;
}

/// `later GPU KEY VALUE... after N`
void add_later(const std::vector<std::string>& words, Sheet& sheet) {
  if (words.size() < 6 || words[words.size() - 2] != "after") return;
  Later later;
  later.gpu = words[1] == "all" ? -1 : std::atoi(words[1].c_str());
  later.key = words[2];
  later.value = words[3];
  for (std::size_t i = 4; i + 2 < words.size(); ++i) later.value += " " + words[i];
  later.after = std::atoi(words.back().c_str());
  sheet.later.push_back(later);
}

/// Written beside and renamed, for concurrent readers.
void write_below_root(const std::string& path, const std::string& hex) {
  const char* file = std::getenv("MUSTER_DRIVER_SHEET");
  if (file == nullptr) return;
  const std::string sheet = file;
  const std::string target = sheet.substr(0, sheet.rfind('/')) + "/root/" + path;
  const std::string beside = target + "." + std::to_string(::getpid());
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
  std::ofstream(beside, std::ios::binary) << bytes;
  std::rename(beside.c_str(), target.c_str());
}

SheetDevice device_of(const nlohmann::json& json) {
  SheetDevice device;
  device.address = json.value("address", "");
  device.uuid = json.value("uuid", "");
  device.domain = json.value("domain", -1);
  device.lanes = json.value("lanes", 16);
  device.partitions = json.value("partitions", 1);
  device.partitions_are_functions = json.value("partitions_are_functions", false);
  device.is_lost = json.value("lost", false);
  return device;
}

Sheet read() {
  Sheet sheet;
  const char* file = std::getenv("MUSTER_DRIVER_SHEET");
  if (file == nullptr) return sheet;
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object()) return sheet;
  sheet.vendor = json.value("vendor", "");
  sheet.model = json.value("model", "");
  sheet.id = json.value("id", "");
  sheet.driver_version = json.value("driver_version", "");
  sheet.firmware = json.value("firmware", "");
  sheet.host = json.value("host", "");
  sheet.memory = json.value("memory", std::uint64_t{0});
  for (const auto& device : json.value("devices", nlohmann::json::array())) sheet.devices.push_back(device_of(device));
  for (const auto& link : json.value("links", nlohmann::json::array()))
    if (link.is_array() && link.size() == 3)
      sheet.links.push_back({link[0].get<std::string>(), link[1].get<std::string>(), link[2].get<int>()});
  for (const std::string& line : json.value("lines", std::vector<std::string>())) {
    auto words = words_of(line);
    if (!words.empty() && words[0] == "set")
      set_value(words, sheet);
    else if (!words.empty() && words[0] == "later")
      add_later(words, sheet);
    else if (!words.empty())
      sheet.lines.push_back({std::move(words)});
  }
  return sheet;
}

template <class Values>
std::string value_in(const Values& values, std::string_view key, std::string fallback) {
  const auto found = values.find(key);
  return found == values.end() ? std::move(fallback) : found->second;
}

/// Of a code, as descriptions may have it: decimal, or `0x78000001`.
int number_of(const char* text) {
  return static_cast<int>(std::strtoul(text, nullptr, 0));
}

/// `CALL CODE` in MUSTER_DRIVER_FAILS: what fails at this moment, of all devices. A test changes it between calls, so
/// that one process tries many. A call's versions (`_v2`) are that call.
int failing_now(std::string_view call) {
  const char* text = std::getenv("MUSTER_DRIVER_FAILS");
  if (text == nullptr) return 0;
  const std::string_view line = text;
  const std::string_view name = line.substr(0, line.find(' '));
  const bool is_it = call == name || (call.substr(0, name.size()) == name && call.substr(name.size(), 2) == "_v");
  return is_it ? number_of(text + name.size()) : 0;
}

/// How often `call` was entered before.
int calls_before(std::string_view call) {
  static std::mutex mutex;
  static std::map<std::string, int, std::less<>> counts;
  const std::lock_guard lock(mutex);
  return counts[std::string(call)]++;
}

}  // namespace

std::string SheetDevice::text(std::string_view key, std::string fallback) const {
  return value_in(values, key, std::move(fallback));
}

double SheetDevice::number(std::string_view key, double fallback) const {
  const auto found = values.find(key);
  return found == values.end() ? fallback : std::strtod(found->second.c_str(), nullptr);
}

const Sheet& Sheet::here() {
  static const Sheet sheet = read();
  return sheet;
}

std::string Sheet::text(std::string_view key, std::string fallback) const {
  return value_in(values, key, std::move(fallback));
}

std::string later_value(int device, std::string_view key, std::string otherwise) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, int> asked;
  for (const Later& later : Sheet::here().later) {
    if (later.key != key || (later.gpu >= 0 && later.gpu != device)) continue;
    const std::lock_guard lock(mutex);
    const int before = asked[{device, later.key}]++;
    return before >= later.after ? later.value : otherwise;
  }
  return otherwise;
}

int entered(std::string_view call, int device) {
  if (const int code = failing_now(call); code != 0) return code;
  const int before = calls_before(call);
  for (const auto& [words] : Sheet::here().lines) {
    if (words.size() < 2 || words[1] != call) continue;
    // `after N` ends a line.
    const bool has_after = words.size() >= 4 && words[words.size() - 2] == "after";
    if (has_after && before < std::atoi(words.back().c_str())) continue;
    const std::size_t end = words.size() - (has_after ? 2 : 0);
    if ((words[0] == "crash" || words[0] == "hang") && end >= 3 && std::atoi(words[2].c_str()) != device) continue;
    if (words[0] == "crash") ::raise(SIGSEGV);
    if (words[0] == "write" && end >= 4) write_below_root(words[2], words[3]);
    if (words[0] == "hang")
      for (;;) ::pause();
    if (words[0] != "fail" || end < 3) continue;
    if (end < 4 || std::atoi(words[3].c_str()) == device) return number_of(words[2].c_str());
  }
  return 0;
}

}  // namespace fake
