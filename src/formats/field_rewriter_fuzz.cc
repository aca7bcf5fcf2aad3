// A record with hidden fields: what is written is a record again, a reader finds nothing but the replacement
// in those fields, and hiding twice is hiding once.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "formats/field_rewriter.h"

namespace {

using namespace wrackline;
using namespace wrackline::formats;

std::string hide(size_t /*name*/, std::string_view /*content*/) {
  return "***";
}

void check_json(std::string_view text) {
  FieldRewriter rewriter({.names = {"email", "id"}});
  JsonReader reader({"email", "id"});
  const auto hidden = rewriter.rewrite_json(text, hide);
  std::string padded(text);
  padded.append(kJsonPaddingBytes, ' ');
  WRACKLINE_CHECK(hidden.has_value() == reader.read(std::string_view(padded.data(), text.size())),
                  std::string(text));
  if (!hidden) return;
  padded = *hidden;
  padded.append(kJsonPaddingBytes, ' ');
  WRACKLINE_CHECK(reader.read(std::string_view(padded.data(), hidden->size())), *hidden);
  for (const JsonValue& value : reader.values()) {
    const bool nothing = value.kind == JsonKind::kNull || value.kind == JsonKind::kMissing;
    WRACKLINE_CHECK(nothing || value.content == "***", format("{} from {}", *hidden, text));
  }
  WRACKLINE_CHECK(rewriter.rewrite_json(*hidden, hide) == hidden, *hidden);
}

void check_csv(std::string_view text, char delimiter) {
  const FieldRewriter rewriter({.names = {"email", "id"}, .delimiter = delimiter, .null_text = "-"});
  const std::array<size_t, 2> places{1, 3};
  const auto hidden = rewriter.rewrite_csv(text, places, hide);
  if (!hidden) return;
  WRACKLINE_CHECK(rewriter.rewrite_csv(*hidden, places, hide) == hidden, *hidden);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_json(text);
  check_csv(text, (data[0] & 1) != 0 ? ';' : ',');
  return 0;
}
