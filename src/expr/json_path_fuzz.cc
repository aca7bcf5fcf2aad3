// The JSON navigator and the path reader over any bytes: a line that is a path, then a JSON text.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "expr/json_path.h"
#include "expr/json_text.h"

namespace {

using namespace wrackline::expr;

void check_inside(std::string_view part, std::string_view text) {
  WRACKLINE_CHECK(part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size(),
                  "a part lies outside its text");
}

// jsonb's spelling is valid JSON and its own spelling.
void check_canonical(const JsonPart& root) {
  std::string once;
  if (!append_json_canonical(once, root)) return;
  JsonPart again;
  WRACKLINE_CHECK(json_root(once, again) == JsonLookup::kFound, once);
  WRACKLINE_CHECK(again.kind == root.kind, once);
  std::string twice;
  WRACKLINE_CHECK(append_json_canonical(twice, again), once);
  WRACKLINE_CHECK(once == twice, once);
}

void walk(const JsonPath& path, const JsonPart& root) {
  JsonPart part = root;
  for (const std::string& step : path.steps) {
    JsonPart next;
    const JsonLookup lookup = json_step(part, step, next);
    WRACKLINE_CHECK(lookup != JsonLookup::kInvalid, "a part of a valid text is not valid");
    json_has(part, step);
    if (lookup == JsonLookup::kMissing) return;
    check_inside(next.text, part.text);
    JsonPart whole;
    WRACKLINE_CHECK(json_root(next.text, whole) == JsonLookup::kFound && whole.text == next.text,
                    "a part is not a value");
    part = next;
  }
  std::string text;
  if (part.kind == JsonKind::kString) append_json_string(text, part);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  const std::string_view path_text = input.substr(0, line);
  const std::string_view text = line == std::string_view::npos ? std::string_view() : input.substr(line + 1);
  const auto path = parse_json_path(path_text);
  JsonPart root;
  if (json_root(text, root) != JsonLookup::kFound) return 0;
  check_inside(root.text, text);
  check_canonical(root);
  if (path) walk(*path, root);
  JsonPart part;
  json_element(root, -1, part);
  json_element(root, 1, part);
  return 0;
}
