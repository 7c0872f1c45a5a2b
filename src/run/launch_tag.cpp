#include "run/launch_tag.hpp"

#include <array>
#include <sodium.h>

#include "run/sealed_frames.hpp"

namespace muster {

namespace {

/// 80 bits: the tag must fit into the name of an abstract socket.
constexpr std::size_t digest_digits = 20;

/// `part`: other digits of the same digest; none follows from another part.
std::string digest_of(std::string_view secret, std::size_t part = 0) {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     nullptr, 0);
  std::array<char, 2 * crypto_generichash_BYTES + 1> text{};
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  return {text.data() + part * digest_digits, digest_digits};
}

}  // namespace

LaunchTag make_launch_tag(const std::string& prefix) {
  const std::string secret = LaunchKey::random().hex();
  return {prefix + "-" + digest_of(secret), secret};
}

std::string name_by_secret(std::string_view secret) {
  return digest_of(secret, 1);
}

bool is_secret_of(std::string_view secret, std::string_view tag) {
  return tag.ends_with("-" + digest_of(secret));
}

}  // namespace muster
