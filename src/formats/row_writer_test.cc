#include "formats/row_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.h"
#include "data/value.h"
#include "formats/row_cells.h"

namespace wrackline::formats {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kNoon = 1'714'564'800'000'000;  // 2024-05-01T12:00:00Z
constexpr std::string_view kOps[] = {"insert", "update", "retract"};
constexpr std::string_view kStatuses[] = {"early", "on_time", "correction", "drain"};

// Builds rows value by value; the text of values is kept by the builder.
class RowBuilder {
 public:
  explicit RowBuilder(const std::vector<RowColumn>& columns) {
    for (const RowColumn& column : columns) columns_.emplace_back(column.type);
  }
  RowBuilder& add(const std::vector<ValueData>& values, uint8_t op = 0, int64_t version = 1,
                  uint8_t status = 1) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].resize(rows_ + 1);
      set_value(columns_[i], rows_, {columns_[i].type(), values[i]}, arena_);
    }
    ++rows_;
    ops_.push_back(op);
    versions_.push_back(version);
    statuses_.push_back(status);
    return *this;
  }
  Rows rows(int64_t generation = 1) const {
    return {rows_, columns_, {ops_, kOps}, versions_, {statuses_, kStatuses}, generation};
  }

 private:
  size_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<uint8_t> ops_, statuses_;
  std::vector<int64_t> versions_;
  Arena arena_;
};

const std::vector<RowColumn> kClicks = {
    {"window_start", Type::timestamptz()}, {"page", Type::text()}, {"clicks", Type::bigint()}};
const ValueData kNull = std::monostate();

std::string write(RowWriter& writer, const Rows& rows) {
  std::string out;
  writer.begin(out);
  writer.append(out, rows);
  writer.flush(out);
  return out;
}

TEST(JsonlWriter, WritesColumnsThenTheFourOfOurs) {
  RowBuilder builder(kClicks);
  builder.add({kNoon, "/home", int64_t{12}})
      .add({kNoon, kNull, int64_t{-3}}, 1, 2, 2)
      .add({kNoon + 60'000'000, "", kNull}, 2, 7, 3)
      .add({kNoon + 250'000, "a", INT64_MIN}, 0, 1, 0);
  EXPECT_EQ(write(*make_jsonl_writer(kClicks), builder.rows(5)),
            "{\"window_start\":\"2024-05-01T12:00:00Z\",\"page\":\"/"
            "home\",\"clicks\":12,\"_op\":\"insert\",\"_version\":1,"
            "\"_status\":\"on_time\",\"_generation\":5}\n"
            "{\"window_start\":\"2024-05-01T12:00:00Z\",\"page\":null,\"clicks\":-3,\"_op\":\"update\",\"_"
            "version\":2,"
            "\"_status\":\"correction\",\"_generation\":5}\n"
            "{\"window_start\":\"2024-05-01T12:01:00Z\",\"page\":\"\",\"clicks\":null,\"_op\":\"retract\",\"_"
            "version\":7,"
            "\"_status\":\"drain\",\"_generation\":5}\n"
            "{\"window_start\":\"2024-05-01T12:00:00.25Z\",\"page\":\"a\",\"clicks\":-9223372036854775808,\"_"
            "op\":\"insert\","
            "\"_version\":1,\"_status\":\"early\",\"_generation\":5}\n");
}

TEST(JsonlWriter, EveryTypeHasItsJsonForm) {
  const std::vector<RowColumn> columns = {
      {"b", Type::boolean()},  {"n", Type::numeric()},   {"d", Type::real64()},
      {"t", Type::text()},     {"z", Type::timestamp()}, {"day", Type::date()},
      {"i", Type::interval()}, {"j", Type::json()},      {"q\"uote", Type::integer()}};
  RowBuilder builder(columns);
  builder.add({true, Decimal{1250, 2}, 0.1, std::string("a\"b\\c\n\xff"), kNoon, int64_t{19844},
               Interval{1, 2, 3'500'000}, std::string("{\"a\":[1, 2]}"), int64_t{1}});
  builder.add({false, Decimal{0, 0}, std::nan(""), std::string("caf\xc3\xa9"), kNoon + 1, int64_t{-1},
               Interval{}, kNull, kNull});
  const std::string text = write(*make_jsonl_writer(columns), builder.rows());
  EXPECT_THAT(
      text,
      StartsWith(
          "{\"b\":true,\"n\":12.50,\"d\":0.1,\"t\":\"a\\\"b\\\\c\\n\xEF\xBF\xBD\",\"z\":\"2024-05-01T12:00:"
          "00\","
          "\"day\":\"2024-05-01\",\"i\":\"1 mon 2 days 00:00:03.5\",\"j\":{\"a\":[1, 2]},\"q\\\"uote\":1,"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n{\"b\":false,\"n\":0,\"d\":\"NaN\",\"t\":\"caf\xc3\xa9\",\"z\":\"2024-05-01T12:00:00.000001\","
          "\"day\":\"1969-12-31\",\"i\":\"00:00:00\",\"j\":null,\"q\\\"uote\":null,"));
}

TEST(JsonlWriter, WithoutColumnsARowStillIsAnObject) {
  RowBuilder builder({});
  builder.add({});
  EXPECT_EQ(write(*make_jsonl_writer({}), builder.rows()),
            "{\"_op\":\"insert\",\"_version\":1,\"_status\":\"on_time\",\"_generation\":1}\n");
}

// The fast paths must say what the plain ones say.
TEST(JsonlWriter, FastCellsAgreeWithThePlainForms) {
  std::mt19937_64 random(7);
  Column text(Type::text()), number(Type::bigint()), time(Type::timestamptz());
  constexpr size_t kCount = 3000;
  for (Column* column : {&text, &number, &time}) column->resize(kCount);
  Arena arena;
  size_t plain = 0;
  for (size_t i = 0; i < kCount; ++i) {
    std::string value(random() % 20, ' ');
    for (char& c : value) c = static_cast<char>(random() % 40 == 0 ? random() % 256 : 'a' + random() % 26);
    plain += is_plain_json(value);
    set_value(text, i, {Type::text(), value}, arena);
    set_value(number, i, {Type::bigint(), static_cast<int64_t>(random() >> (random() % 64))}, arena);
    set_value(time, i, {Type::timestamptz(), kNoon + static_cast<int64_t>(random() % 3) * 1'000'000}, arena);
    for (Column* column : {&text, &number, &time}) {
      if (random() % 10 == 0) column->set_null(i);
    }
  }
  EXPECT_GT(plain, kCount / 3);
  EXPECT_LT(plain, kCount - kCount / 10);
  for (const Column* column : {&text, &number, &time}) {
    TimeMemo memo;
    for (size_t i = 0; i < kCount; ++i) {
      std::string fast, slow;
      append_json_cell(fast, *column, i, memo);
      append_json(slow, *column, i);
      ASSERT_EQ(fast, slow);
    }
  }
}

TEST(JsonlWriter, APlainTextHasNoByteThatJsonEscapes) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t size = 1; size < 20; ++size) {
      for (size_t at = 0; at < size; ++at) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        const bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
        ASSERT_EQ(is_plain_json(text), plain) << "byte " << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST(CsvWriter, WritesAHeaderAndQuotesWhatNeedsIt) {
  const std::vector<RowColumn> columns = {
      {"at", Type::timestamptz()}, {"a,b", Type::text()}, {"n", Type::numeric()}};
  RowBuilder builder(columns);
  builder.add({kNoon, "plain", Decimal{1250, 2}})
      .add({kNoon, "a,b", Decimal{5, 0}}, 1, 2, 2)
      .add({kNoon, "say \"hi\"", kNull})
      .add({kNoon, "two\nlines\r", kNull})
      .add({kNoon, "", kNull})
      .add({kNoon, kNull, kNull})
      .add({kNoon, " blank ", kNull})
      .add({kNoon, "\xff\x01", kNull});
  EXPECT_EQ(write(*make_csv_writer(columns), builder.rows(3)),
            "at,\"a,b\",n,_op,_version,_status,_generation\n"
            "2024-05-01T12:00:00Z,plain,12.50,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,\"a,b\",5,update,2,correction,3\n"
            "2024-05-01T12:00:00Z,\"say \"\"hi\"\"\",,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,\"two\nlines\r\",,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,\"\",,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,,,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,\" blank \",,insert,1,on_time,3\n"
            "2024-05-01T12:00:00Z,\xff\x01,,insert,1,on_time,3\n");
}

TEST(CsvWriter, ReadsBackWithAnyRfc4180Reader) {
  std::mt19937_64 random(11);
  const std::vector<RowColumn> columns = {{"t", Type::text()}};
  RowBuilder builder(columns);
  std::vector<std::string> values;
  for (int i = 0; i < 500; ++i) {
    std::string value(1 + random() % 8, ' ');
    for (char& c : value) c = "ab ,\"\n\r"[random() % 7];
    values.push_back(value);
    builder.add({value});
  }
  const std::string text = write(*make_csv_writer(columns), builder.rows());
  // A reader as plain as the grammar.
  std::vector<std::string> first_fields;
  std::string field;
  bool quoted = false, first = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == ',' || text[i] == '\n')) {
      if (first) first_fields.push_back(field);
      first = text[i] == '\n';
      field.clear();
    } else {
      field += text[i];
    }
  }
  ASSERT_EQ(first_fields.size(), values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(first_fields[i + 1], values[i]);
}

TEST(TableWriter, AlignsAndMarksWhatIsNotAFirstTimelyVersion) {
  RowBuilder builder(kClicks);
  builder.add({kNoon, "/home", int64_t{1200}})
      .add({kNoon, "/a", int64_t{7}})
      .add({kNoon, "/home", int64_t{1201}}, 1, 2, 2)
      .add({kNoon, "/late", int64_t{1}}, 0, 1, 2)
      .add({kNoon, "/a", int64_t{7}}, 2, 3, 1)
      .add({kNoon, kNull, kNull}, 0, 1, 0)
      .add({kNoon, "/d", int64_t{1}}, 1, 4, 3);
  EXPECT_EQ(write(*make_table_writer(kClicks), builder.rows()),
            "window_start          page   clicks\n"
            "--------------------  -----  ------\n"
            "2024-05-01T12:00:00Z  /home    1200\n"
            "2024-05-01T12:00:00Z  /a          7\n"
            "2024-05-01T12:00:00Z  /home    1201  v2 correction\n"
            "2024-05-01T12:00:00Z  /late       1  correction\n"
            "2024-05-01T12:00:00Z  /a          7  v3 retracted\n"
            "2024-05-01T12:00:00Z  NULL     NULL  early\n"
            "2024-05-01T12:00:00Z  /d          1  v4 drain\n");
}

TEST(TableWriter, ColourIsOnlyOnHeaderNullsAndMarks) {
  RowBuilder builder(kClicks);
  builder.add({kNoon, "/home", kNull}, 1, 2, 2);
  EXPECT_EQ(write(*make_table_writer(kClicks, {.colour = true}), builder.rows()),
            "\x1b[1mwindow_start        \x1b[0m  \x1b[1mpage \x1b[0m  \x1b[1mclicks\x1b[0m\n"
            "--------------------  -----  ------\n"
            "2024-05-01T12:00:00Z  /home  \x1b[2m  NULL\x1b[0m  \x1b[33mv2 correction\x1b[0m\n");
}

TEST(TableWriter, WaitsForItsFirstScreenfulOrAFlush) {
  const std::unique_ptr<RowWriter> writer = make_table_writer(kClicks, {.sample_rows = 3});
  std::string out;
  writer->begin(out);
  writer->append(out, RowBuilder(kClicks).add({kNoon, "/a", int64_t{1}}).rows());
  EXPECT_EQ(out, "");
  writer->append(out,
                 RowBuilder(kClicks).add({kNoon, "/home", int64_t{1}}).add({kNoon, "/b", int64_t{1}}).rows());
  EXPECT_THAT(out, StartsWith("window_start          page   clicks\n"));
  out.clear();
  writer->append(
      out,
      RowBuilder(kClicks).add({kNoon, "/a-longer-one", int64_t{1}}).add({kNoon, "/b", int64_t{1}}).rows());
  writer->flush(out);
  EXPECT_EQ(out,
            "2024-05-01T12:00:00Z  /a-longer-one       1\n"
            "2024-05-01T12:00:00Z  /b                  1\n")
      << "a wider cell widens its column from then on; the header stays one";
}

TEST(TableWriter, TextsCannotDriveTheTerminalAndLongOnesAreCut) {
  const std::vector<RowColumn> columns = {{"t", Type::text()}, {"n", Type::text()}};
  RowBuilder builder(columns);
  builder.add({std::string("\x1b[2Jx\ty"), "1"})
      .add({std::string(100, 'x'), "2"})
      .add({"\xe6\x97\xa5\xe6\x9c\xac", "3"});
  EXPECT_EQ(write(*make_table_writer(columns, {.text_width_max = 16}), builder.rows()),
            "t                 n\n"
            "----------------  -\n"
            "\\x1b[2Jx\\x09y     1\n"
            "xxxxxxxxxxxxxxx…  2\n"
            "\xe6\x97\xa5\xe6\x9c\xac              3\n");
}

TEST(TableWriter, ATextEndsItsLineWithoutBlanks) {
  const std::vector<RowColumn> columns = {{"long_name", Type::text()}};
  RowBuilder builder(columns);
  builder.add({"x"});
  EXPECT_EQ(write(*make_table_writer(columns), builder.rows()), "long_name\n---------\nx\n");
}

TEST(TableWriter, WithoutRowsThereIsNoHeader) {
  EXPECT_EQ(write(*make_table_writer(kClicks), RowBuilder(kClicks).rows()), "");
}

TEST(DisplayWidth, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("caf\xc3\xa9"), 4U);
  EXPECT_EQ(display_width("cafe\xcc\x81"), 4U) << "a combining accent takes no room";
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4U) << "wide characters take two";
  EXPECT_EQ(display_width("\xf0\x9f\x99\x82"), 2U);
  EXPECT_EQ(display_width("\xff\xf0"), 2U) << "no decoding past the end";
}

TEST(RowWriter, AppendingAllocatesNothingOnceTheOutputHasItsSize) {
  RowBuilder builder(kClicks);
  for (int64_t i = 0; i < 1000; ++i) builder.add({kNoon + i * 60'000'000, "/some/page/of/the/site", i});
  for (const auto make : {make_jsonl_writer, make_csv_writer}) {
    const std::unique_ptr<RowWriter> writer = make(kClicks);
    std::string out;
    writer->append(out, builder.rows());
    const size_t capacity = out.capacity();
    const size_t size = out.size();
    out.clear();
    writer->append(out, builder.rows());
    EXPECT_EQ(out.size(), size);
    EXPECT_EQ(out.capacity(), capacity);
  }
}

}  // namespace
}  // namespace wrackline::formats
