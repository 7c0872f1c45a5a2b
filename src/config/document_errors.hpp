/// What is wrong in one document, collected while it is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace muster {

/// Counted from 1; columns in characters, as an editor shows them.
struct Place {
  int line = 1;
  int column = 1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

class DocumentErrors {
 public:
  /// `name` is the document's file name and must outlive this.
  explicit DocumentErrors(std::string_view name) : name_(name) {}

  void add(Place at, std::string what);
  /// Of a key that the table which begins at `table` may not have. What that table lacks may be this key, misspelt.
  void add_unknown(Place at, std::string what, Place table);
  /// Of what may be wrong only because of an unknown key of `table`.
  void add_consequence(Place at, std::string what, Place table);
  /// `file:line:column`.
  [[nodiscard]] std::string text(Place at) const;
  [[nodiscard]] bool empty() const { return found_.empty(); }
  /// Appends all of them to `diagnostics`, in the order of the document; but unknown keys come before what their table
  /// lacks (complaints that are placed where the table begins), and before other consequences.
  void deliver(Diagnostics& diagnostics);

 private:
  struct Complaint {
    Place at;
    std::string what;
    Place table = at;       ///< whose unknown keys may explain it
    bool is_cause = false;  ///< an unknown key
    Place order = at;
  };
  void find_orders();

  std::string_view name_;
  std::vector<Complaint> found_;
};

}  // namespace muster
