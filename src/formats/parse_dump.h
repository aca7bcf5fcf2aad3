// What a parser makes of a text, as lines to compare: for tests and fuzz targets only.
//
// Shape: a row is 'row 3 line 4: [1,"a",null] <raw>', a reject 'reject 2 line 3 unparseable 17: detail <raw>',
//        in the order of the log; an Error ends the list.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "data/value.h"
#include "formats/parser.h"

namespace wrackline::formats {

inline void dump_batch(const Batch& batch, const std::vector<Field>& fields, std::vector<std::string>& out) {
  size_t next_reject = 0;
  const auto dump_rejects = [&](size_t row) {
    for (; next_reject < batch.rejects.size() && batch.rejects[next_reject].before_row == row;
         ++next_reject) {
      const Reject& reject = batch.rejects[next_reject];
      out.push_back(format("reject {} line {} {} {}: {} <{}>", reject.offset, reject.line,
                           to_string(reject.reason), reject.raw_bytes, reject.detail, reject.raw));
    }
  };
  for (size_t row = 0; row < batch.rows; ++row) {
    dump_rejects(row);
    std::string values;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!values.empty()) values += ',';
      if (!fields[i].needed) {
        WRACKLINE_CHECK(batch.columns[i].size() == 0, "a column that nobody needs has rows");
        values += '-';
        continue;
      }
      WRACKLINE_CHECK(batch.columns[i].size() == batch.rows, "a column has another number of rows");
      append_json(values, batch.columns[i], row);
    }
    out.push_back(
        format("row {} line {}: [{}] <{}>", batch.offsets[row], batch.lines[row], values, batch.raw[row]));
  }
  dump_rejects(batch.rows);
  WRACKLINE_CHECK(next_reject == batch.rejects.size(), "rejects out of order");
}

// The first place where two dumps differ, for messages; empty if they are equal.
inline std::string difference(const std::vector<std::string>& wanted, const std::vector<std::string>& got) {
  size_t at = 0;
  while (at < wanted.size() && at < got.size() && wanted[at] == got[at]) ++at;
  if (at == wanted.size() && at == got.size()) return {};
  const auto shown = [&](const std::vector<std::string>& dump) {
    return at < dump.size() ? dump[at] : "the end";
  };
  return format("at {}:\n  wanted {}\n  got    {}", at, printable(shown(wanted), 600),
                printable(shown(got), 600));
}

struct DumpOptions {
  size_t rows_max = 1000;                                   // of one call
  std::function<size_t()> step = [] { return size_t{0}; };  // bytes that come into view at a time; 0: all
};

// Feeds `text` to `parser` as a reader would: a view that grows step by step, in fresh memory each time, so
// that a read outside of it or a view kept too long is found by a sanitizer.
inline std::vector<std::string> dump_all(Parser& parser, const std::vector<Field>& fields,
                                         std::string_view text, const DumpOptions& options = {}) {
  std::vector<std::string> out;
  size_t begin = 0;
  size_t end = 0;
  for (bool at_end = false; !at_end;) {
    const size_t step = options.step();
    end = step == 0 ? text.size() : std::min(text.size(), end + step);
    at_end = end == text.size();
    for (bool full = true; full;) {
      const size_t size = end - begin;
      const auto memory = std::make_unique<char[]>(size + kPaddingBytes);
      std::copy_n(text.data() + begin, size, memory.get());
      std::fill_n(memory.get() + size, kPaddingBytes, '"');
      Batch batch;
      batch.reset(fields);
      const int64_t before = parser.records();
      const Result<size_t> eaten = parser.parse({memory.get(), size}, at_end, options.rows_max, batch);
      if (!eaten) {
        out.push_back("error " + eaten.error().to_string());
        return out;
      }
      const size_t records = batch.rows + batch.rejects.size();
      WRACKLINE_CHECK(*eaten <= size, "ate more than there was");
      WRACKLINE_CHECK(static_cast<size_t>(parser.records() - before) == records, "records are uncounted");
      WRACKLINE_CHECK(records <= options.rows_max, "more records than asked for");
      dump_batch(batch, fields, out);
      begin += *eaten;
      full = records == options.rows_max;
    }
    WRACKLINE_CHECK(!at_end || begin == text.size(), "bytes left at the end");
  }
  return out;
}

}  // namespace wrackline::formats
