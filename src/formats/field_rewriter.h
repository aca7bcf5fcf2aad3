// Writes a record anew with the values of some of its fields replaced, and every other byte as it was.
//
// A field is found by its name in JSON, every time it occurs at the top level, whatever its escapes; in CSV
// by its place. null in JSON, and the text that means NULL in CSV, stay as they are. Threads: one rewriter
// belongs to one thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_reader.h"

namespace wrackline::formats {

class FieldRewriter {
 public:
  struct Options {
    std::vector<std::string> names;  // of the fields to replace
    char delimiter = ',';            // CSV
    std::string null_text = {};      // CSV
  };
  // Given the index of a name and what the value says (a string without its quotes and escapes, else the text
  // as it stands), returns the text to write in its place: a string in JSON, quoted as needed in CSV.
  using Replace = std::function<std::string(size_t name, std::string_view content)>;

  explicit FieldRewriter(Options options);

  // nullopt if it is not one valid JSON object. Cost: reads the record twice.
  std::optional<std::string> rewrite_json(std::string_view record, const Replace& replace);
  // `places` says for each name which field of the record it is, from 0. nullopt if there are fewer fields.
  std::optional<std::string> rewrite_csv(std::string_view record, std::span<const size_t> places,
                                         const Replace& replace) const;

 private:
  std::optional<size_t> name_of(std::string_view key);
  std::string_view content_of(std::string_view value);

  Options options_;
  JsonReader valid_{{}};
  JsonUnescaper unescaper_;
  std::string copy_;  // of the record, with the padding that readers look into
};

}  // namespace wrackline::formats
