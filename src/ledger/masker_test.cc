#include "ledger/masker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "ledger/keyed_hash.h"
#include "ledger/ledger_fixture_test.h"

namespace wrackline::ledger {
namespace {

using testing::HasSubstr;
using testing::Not;

// RFC 4231, test cases 1 and 2: the first half of each.
TEST(KeyedHash, IsHmacSha256) {
  EXPECT_EQ(keyed_hash(std::string(20, '\x0b'), "Hi There"), "b0344c61d8db38535ca8afceaf0bf12b");
  EXPECT_EQ(keyed_hash("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c7");
}

constexpr const char* kKey = "a key of more than sixteen bytes";

MaskRule rule() {
  MaskRule rule;
  rule.view = "clicks_per_minute";
  rule.columns = {{"email", 1, Hide::kMask}, {"user", 2, Hide::kHash}};
  rule.keys = {{"page", Hide::kNothing}};
  rule.declared = {{"page", "text"}, {"email", "text"}, {"user", "bigint"}, {"price", "numeric"}};
  rule.hash_key = kKey;
  return rule;
}

Entry hidden(Entry entry, MaskRule with = rule()) {
  Masker(std::move(with)).hide(entry);
  return entry;
}

Entry with_payload(std::string payload) {
  return late_entry(1, std::move(payload));
}

TEST(Masker, HidesValuesInJsonAndSaysSo) {
  const Entry entry = hidden(with_payload(R"({"page":"/home","email":"ann@x.org","user":4711,"n":1})"));
  EXPECT_EQ(entry.payload,
            "{\"page\":\"/home\",\"email\":\"***\",\"user\":\"" + keyed_hash(kKey, "4711") + "\",\"n\":1}");
  EXPECT_EQ(entry.payload_state, PayloadState::kMasked);
  EXPECT_EQ(entry.key, "\"/home\"");
  EXPECT_EQ(entry.detail, "");
}

TEST(Masker, HidesValuesInCsvByTheirPlace) {
  const std::array<size_t, 4> places{3, 0, 2, 1};
  Entry entry = with_payload("ann@x.org,9.50,4711,\"/home,\"");
  entry.places = places;
  EXPECT_EQ(hidden(entry).payload, "***,9.50," + keyed_hash(kKey, "4711") + ",\"/home,\"");
  entry.payload = "only,two";
  EXPECT_EQ(hidden(entry).payload_state, PayloadState::kWithheld);
  EXPECT_EQ(hidden(entry).payload, "");
}

TEST(Masker, HashesKeysAsThePayloadIs) {
  MaskRule of_key = rule();
  of_key.keys = {{"user", Hide::kHash}};
  Entry entry = with_payload(R"({"user":4711})");
  entry.key = "4711";
  entry = hidden(entry, of_key);
  EXPECT_EQ(entry.key, "\"" + keyed_hash(kKey, "4711") + "\"");
  EXPECT_THAT(entry.payload, HasSubstr(entry.key));
  entry.key = "null";
  EXPECT_EQ(hidden(entry, of_key).key, "null");

  of_key.keys = {
      {"page", Hide::kNothing}, {"user", Hide::kHash}, {"lower(email)", Hide::kMask}, {"n", Hide::kNothing}};
  entry.key = R"x({"page":"/home","user":4711,"lower(email)":"ann@x.org","n":3})x";
  EXPECT_EQ(hidden(entry, of_key).key, "{\"page\":\"/home\",\"user\":\"" + keyed_hash(kKey, "4711") +
                                           "\",\"lower(email)\":\"***\",\"n\":3}");
}

TEST(Masker, WithholdsRecordsThatWereRejected) {
  Entry entry = with_payload(R"({"email":"ann@x.org")");
  entry.rejected = true;
  entry.record_bytes = entry.payload.size();
  entry.detail = "not valid JSON at byte 21: the object is not closed";
  entry.reason = Reason::kUnparseable;
  const Entry withheld = hidden(entry);
  EXPECT_EQ(withheld.payload, "");
  EXPECT_EQ(withheld.payload_state, PayloadState::kWithheld);
  EXPECT_EQ(withheld.detail,
            "not valid JSON at byte 21: the object is not closed (20 bytes withheld, HMAC-SHA-256 " +
                keyed_hash(kKey, entry.payload) + " of them)");

  entry.detail = "column \"price\": \"ann@x.org is not a numeric\" is not a numeric";
  EXPECT_THAT(hidden(entry).detail,
              testing::StartsWith("column \"price\": the value does not fit numeric (20 bytes"));
  entry.detail = "something new about \"ann@x.org\"";
  EXPECT_THAT(hidden(entry).detail,
              testing::StartsWith("something new about … (withheld) (20 bytes withheld"));

  entry.detail = "the record has 9000 bytes, more than 100 (the first 20 of 9000 bytes are kept)";
  entry.record_bytes = 9000;
  MaskRule no_key = rule();
  no_key.columns.pop_back();
  no_key.hash_key.clear();
  EXPECT_EQ(hidden(entry, no_key).detail, "the record has 9000 bytes, more than 100 (9000 bytes withheld)")
      << "a hash without a key would give a short record away";
}

TEST(Masker, DetailsQuoteNothing) {
  for (const std::string_view detail :
       {"invalid input syntax for type bigint: \"ann@x.org\"",
        "value \"ann@x.org\" is out of range for type integer",
        "numeric field overflow: ann@x.org does not fit numeric(3,1)", "\"ann@x.org\""}) {
    Entry entry = with_payload("{}");
    entry.detail = detail;
    EXPECT_THAT(hidden(entry).detail, Not(HasSubstr("ann"))) << detail;
    EXPECT_THAT(hidden(entry).detail, HasSubstr("withheld")) << detail;
  }
  Entry entry = with_payload("{}");
  entry.detail = "division by zero";
  EXPECT_EQ(hidden(entry).detail, "division by zero");
}

TEST(Masker, WhatCannotBeReadIsWithheld) {
  for (const std::string_view payload : {"", "ann@x.org", "{\"email\":\"ann@x.org\"", "[\"ann@x.org\"]"}) {
    const Entry entry = hidden(with_payload(std::string(payload)));
    EXPECT_EQ(entry.payload, "");
    EXPECT_EQ(entry.payload_state, PayloadState::kWithheld);
  }
}

TEST_F(LedgerTest, MasksHoldForTheirViewAndComeBack) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    ledger->set_masks({rule()});
    add(*ledger, late_entry(1, R"({"email":"ann@x.org"})"));
    Entry other = late_entry(2, R"({"email":"bob@x.org"})");
    other.view = "other";
    add(*ledger, other);
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  const std::vector<Entry> found = entries(*open_reader());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].payload, R"({"email":"***"})");
  EXPECT_EQ(found[0].payload_state, PayloadState::kMasked);
  EXPECT_EQ(found[1].payload, R"({"email":"bob@x.org"})");
  EXPECT_THAT(to_json(found[0]), HasSubstr("\"payload_state\":\"masked\""));
}

}  // namespace
}  // namespace wrackline::ledger
