#include <functional>

#include "probes/judging.hpp"
#include "probes/training/checkpoint.hpp"

namespace muster::training {
namespace {

struct Setting {
  Settings settings;
  Layout layout;
  explicit Setting(const std::function<void(Settings&)>& change = [](Settings&) {}) {
    settings.features = 4;
    settings.hidden = 6;
    settings.classes = 3;
    change(settings);
    layout = Layout::of(settings);
  }
  [[nodiscard]] Identity identity(std::uint64_t data = 77) const { return {settings, layout, data}; }
};

Checkpoint sample(const Setting& setting) {
  Checkpoint checkpoint{{initial_parameters(setting.settings, setting.layout), {}}, 5, 2, 0xabcdef};
  checkpoint.state.velocity = checkpoint.state.parameters;
  for (float& value : checkpoint.state.velocity) value *= -3;
  return checkpoint;
}

std::string refusal(const Setting& setting, const std::string& bytes, std::uint64_t data = 77) {
  const auto read = decode(setting.identity(data), bytes);
  if (read) return "";
  EXPECT_EQ(read.error().kind, ErrorKind::file);
  return read.error().what;
}

TEST(TrainingCheckpoint, ReadsBackToTheBitWithAndWithoutPrefix) {
  const Setting setting;
  const Checkpoint written = sample(setting);
  for (const char* prefix : {"", "module."}) {
    const std::string bytes = encode(setting.identity(), written, prefix);
    EXPECT_EQ(bytes.find("module.fc1.weight") != std::string::npos, *prefix != '\0');
    const auto read = decode(setting.identity(), bytes);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->state, written.state);
    EXPECT_EQ(read->epoch, 5);
    EXPECT_EQ(read->writer, 2);
    EXPECT_EQ(read->run, 0xabcdefU);
  }
}

TEST(TrainingCheckpoint, OfAnotherTrainingItIsRefused) {
  const Setting setting;
  const std::string bytes = encode(setting.identity(), sample(setting));
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.seed = 9; }), bytes),
            "it is of another training: its seed is 1, not 9");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.hidden = 8; }), bytes),
            "it is of another training: its width of the hidden layers is 6, not 8");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.classes = 4; }), bytes),
            "it is of another training: its number of classes is 3, not 4");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.samples = 400; }), bytes),
            "it is of another training: its number of samples is 5000, not 400");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.rate = 0.5f; }), bytes),
            "it is of another training: its learning rate is 0.05, not 0.5");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.momentum = 0.5f; }), bytes),
            "it is of another training: its momentum is 0.9, not 0.5");
  EXPECT_EQ(refusal(Setting([](Settings& s) { s.batch = 20; }), bytes),
            "it is of another training: its batch is 240, not 20");
  EXPECT_EQ(refusal(setting, bytes, 78),
            "it is of another training: its data set is 000000000000004d, not 000000000000004e");
}

TEST(TrainingCheckpoint, WhatIsNoneIsRefused) {
  const Setting setting;
  EXPECT_EQ(refusal(setting, ""), "this is not a checkpoint of probe training");
  EXPECT_EQ(refusal(setting, "PK\x03\x04 something else"), "this is not a checkpoint of probe training");
  std::string bytes = encode(setting.identity(), sample(setting));
  bytes[8] = 9;
  EXPECT_EQ(refusal(setting, bytes), "it is of version 9, this program reads 2");
}

TEST(TrainingCheckpoint, CutAnywhereItIsRefused) {
  const Setting setting;
  const std::string bytes = encode(setting.identity(), sample(setting));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(refusal(setting, bytes.substr(0, length)).empty()) << length;
  EXPECT_EQ(refusal(setting, bytes + "x"), "it is longer than it should be");
}

TEST(TrainingCheckpoint, WithAnyBitFlippedItIsRefused) {
  const Setting setting;
  const std::string bytes = encode(setting.identity(), sample(setting));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    EXPECT_FALSE(refusal(setting, changed).empty()) << at;
  }
  std::string changed = bytes;
  changed[bytes.find("fc2.weight") + 10 + 8 + 21] ^= 4;
  EXPECT_EQ(refusal(setting, changed), "its checksum is wrong: it was damaged after it was written");
}

TEST(TrainingCheckpoint, NamesThatDoNotFitAreRefused) {
  const Setting setting;
  std::string bytes = encode(setting.identity(), sample(setting));
  bytes.replace(bytes.find("fc2.bias"), 8,
                "fc9\x1b"
                "bias");
  EXPECT_EQ(refusal(setting, bytes), "it has \"fc9\\x1bbias\" where \"fc2.bias\" is due");
  bytes = encode(setting.identity(), sample(setting), "module.");
  bytes.replace(bytes.find("module.fc2.bias"), 7, "nodule.");
  EXPECT_EQ(refusal(setting, bytes), "some names of parameters start with \"module.\", others do not");
}

}  // namespace
}  // namespace muster::training
