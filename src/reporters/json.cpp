/// The run report as it is published: reports/schema/report-1.json.
#include "model/json.hpp"

#include <ostream>

#include "muster/reporter.hpp"

namespace muster {

namespace {

class Json : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override {
    write_json(report, out);
    out << '\n';
  }
};

std::unique_ptr<Reporter> make_json(const ReporterOptions&) {
  return std::make_unique<Json>();
}

}  // namespace

extern const ReporterSpec reporter_json{
    .name = "json",
    .summary = "The whole run as one JSON document, the input of every other report (reports/schema/report-1.json).",
    .file_name = "report.json",
    .make = make_json,
};

}  // namespace muster
