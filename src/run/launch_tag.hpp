/// The name of a launch, and the secret by which its processes are recognised.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The tag is public: it is in file names and arguments. The secret is in the environment of the launch's processes
/// alone, which other users can't read. The tag ends with a digest of the secret: the tag suffices to check a secret,
/// but not to find it.
struct LaunchTag {
  std::string tag;
  std::string secret;
};

/// `PREFIX-DIGEST`, with a new secret.
[[nodiscard]] LaunchTag make_launch_tag(const std::string& prefix);
/// A name for a file or folder of the launch that can be found from the secret, and not from the tag.
[[nodiscard]] std::string name_by_secret(std::string_view secret);
[[nodiscard]] bool is_secret_of(std::string_view secret, std::string_view tag);

}  // namespace muster
