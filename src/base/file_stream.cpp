#include "base/file_stream.hpp"

namespace muster {

FileStream::Pieces::Pieces(AtomicFile& file) : file_(file), piece_{} {
  setp(piece_.data(), piece_.data() + piece_.size());
}

FileStream::Pieces::int_type FileStream::Pieces::overflow(int_type byte) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(byte, traits_type::eof())) sputc(traits_type::to_char_type(byte));
  return traits_type::not_eof(byte);
}

int FileStream::Pieces::sync() {
  const auto written = file_.write({pbase(), static_cast<std::size_t>(pptr() - pbase())});
  setp(piece_.data(), piece_.data() + piece_.size());
  return written ? 0 : -1;
}

FileStream::FileStream(AtomicFile& file) : std::ostream(nullptr), pieces_(file) {
  init(&pieces_);
}

FileStream::~FileStream() {
  flush();
}

}  // namespace muster
