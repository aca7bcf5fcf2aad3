// For tests: what must be true of every page, whatever it shows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace wrackline::report {

inline std::string attribute(std::string_view tag, std::string_view name) {
  const std::string lead = " " + std::string(name) + "=\"";
  const size_t at = tag.find(lead);
  if (at == std::string_view::npos) return {};
  const size_t from = at + lead.size();
  return std::string(tag.substr(from, tag.find('"', from) - from));
}

// Reads the page as a browser's parser would have to: elements close in order, attributes are quoted, ids are
// unique and those referred to exist, nothing can be fetched or run, no number is not a number.
inline void expect_sound(const std::string& page) {
  static const std::set<std::string, std::less<>> kKnown = {
      "html", "head", "meta",    "title",   "style", "body",   "header",  "h1",      "h2",
      "h3",   "p",    "main",    "section", "dl",    "div",    "dt",      "dd",      "ul",
      "ol",   "li",   "b",       "br",      "bdi",   "figure", "svg",     "desc",    "line",
      "rect", "path", "circle",  "text",    "g",     "table",  "thead",   "tbody",   "tr",
      "th",   "td",   "caption", "pre",     "code",  "footer", "details", "summary", "figcaption"};
  std::vector<std::string> open;
  std::set<std::string> ids;
  std::vector<std::string> referred;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string_view tag = std::string_view(page).substr(at, end - at + 1);
    if (tag == "<!doctype html>") continue;
    const bool closes = tag[1] == '/';
    size_t name_end = closes ? 2 : 1;
    while (std::isalnum(static_cast<unsigned char>(tag[name_end])) != 0) ++name_end;
    const std::string name(tag.substr(closes ? 2 : 1, name_end - (closes ? 2 : 1)));
    ASSERT_TRUE(kKnown.contains(name)) << "an element that the page should not have: " << tag;
    if (closes) {
      ASSERT_FALSE(open.empty()) << tag;
      ASSERT_EQ(open.back(), name);
      open.pop_back();
      continue;
    }
    ASSERT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
    for (const std::string_view never : {" onclick", " onload", " onerror", " href", " src", " action"}) {
      ASSERT_EQ(tag.find(std::string(never) + "=\""), std::string_view::npos) << tag;
    }
    if (const std::string id = attribute(tag, "id"); !id.empty()) {
      ASSERT_TRUE(ids.insert(id).second) << "twice: " << id;
    }
    const std::string labels = attribute(tag, "aria-labelledby");
    for (size_t from = 0; from < labels.size();) {
      const size_t space = std::min(labels.find(' ', from), labels.size());
      referred.push_back(labels.substr(from, space - from));
      from = space + 1;
    }
    if (name == "svg" && attribute(tag, "aria-hidden").empty()) {
      EXPECT_EQ(page.substr(end + 1, 7), "<title ") << "a drawing without a title: " << tag;
    }
    if (name != "meta" && name != "br" && tag[tag.size() - 2] != '/') open.push_back(name);
  }
  EXPECT_TRUE(open.empty());
  for (const std::string& id : referred) EXPECT_TRUE(ids.contains(id)) << id;
  const size_t style_end = page.find("</style>");
  ASSERT_NE(style_end, std::string::npos);
  EXPECT_EQ(page.find("://"), std::string::npos);
  EXPECT_EQ(page.find("url("), std::string::npos);
  EXPECT_EQ(page.find("@import"), std::string::npos);
  for (const std::string_view wrong : {"\"nan", "\"inf", "\"-inf", " nan ", "-nan", "e+"}) {
    EXPECT_EQ(page.find(wrong, style_end), std::string::npos) << wrong;
  }
}

}  // namespace wrackline::report
