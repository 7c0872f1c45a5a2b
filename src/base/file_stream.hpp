/// A stream into an AtomicFile, for what is too large to be held in memory first.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

#include "base/files.hpp"

namespace muster {

/// Hands on what is written in pieces. A piece that can't be written sets badbit; the file remembers the cause, and its
/// commit will fail with it.
class FileStream : public std::ostream {
 public:
  /// `file` must outlive this object and stay where it is.
  explicit FileStream(AtomicFile& file);
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;
  ~FileStream() override;

 private:
  class Pieces : public std::streambuf {
   public:
    explicit Pieces(AtomicFile& file);

   private:
    int_type overflow(int_type byte) override;
    int sync() override;
    AtomicFile& file_;
    std::array<char, std::size_t{1} << 16> piece_;
  };
  Pieces pieces_;
};

}  // namespace muster
