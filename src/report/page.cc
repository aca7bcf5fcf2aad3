#include "report/page.h"

#include <array>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/markup.h"
#include "report/style.h"

namespace wrackline::report {
namespace {

// No script, no font, no picture, no request: a browser that is told so keeps to it, whatever a name
// contains.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

using Draw = std::function<std::string(const Canvas&)>;

std::string paragraph(std::string_view text, std::string_view kind = {}) {
  if (text.empty()) return {};
  return format("<p{}>{}</p>\n", kind.empty() ? "" : format(" class=\"{}\"", kind), escaped(text));
}

std::string list_html(const std::vector<std::string>& lines, std::string_view open) {
  if (lines.empty()) return {};
  std::string out = format("<{}>\n", open);
  for (const std::string& line : lines) out += format("<li>{}</li>\n", escaped(line));
  return out + format("</{}>\n", open.substr(0, open.find(' ')));
}

// Both drawings, with what is said about them.
std::string figure_html(const Draw& draw, const std::vector<std::string>& notes, std::string_view key = {}) {
  const std::string wide = draw(kWide);
  if (wide.empty() && notes.empty()) return {};
  std::string out = "<figure>\n";
  out += key;
  out += wide + draw(kNarrow);
  if (!notes.empty()) out += "<figcaption>" + list_html(notes, "ul") + "</figcaption>\n";
  return out + "</figure>\n";
}

// A table that scrolls sideways on its own, and can be reached with the keyboard to do so.
std::string table_html(const PageTable& table) {
  if (table.rows.empty()) return {};
  constexpr size_t kRowsShort = 12;  // on paper these stay together
  std::string out = format(
      "<div class=\"scroll{1}\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0}\"><table><caption>{0}</caption>\n<thead><tr>",
      escaped(table.caption), table.rows.size() <= kRowsShort ? " short" : "");
  for (const std::string& column : table.columns) out += format("<th scope=\"col\">{}</th>", escaped(column));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    WRACKLINE_CHECK(row.size() == table.columns.size(), format("table \"{}\"", table.caption));
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? format("<th scope=\"row\">{}</th>", isolated(row[0]))
                    : format("<td>{}</td>", escaped(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n" + paragraph(table.more, "lead");
}

// A table that few readers want to see at once.
std::string folded_table_html(const PageTable& table) {
  if (table.rows.empty()) return {};
  return format("<details><summary>{}: as a table</summary>\n{}</details>\n", escaped(table.caption),
                table_html(table));
}

std::string section(std::string_view id, std::string_view title, std::string_view lead,
                    std::string_view body) {
  return format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 "
      "id=\"{0}-heading\">{1}</h2>\n{2}{3}</section>\n",
      id, escaped(title), paragraph(lead, "lead"), body);
}

// What each shape or colour means, in front of a figure.
std::string key_html(const std::vector<std::pair<std::string_view, std::string>>& entries) {
  std::string out = "<ul class=\"key\">\n";
  for (const auto& [shape, text] : entries) {
    out += format("<li><svg width=\"22\" height=\"12\" aria-hidden=\"true\">{}</svg>{}</li>\n", shape,
                  escaped(text));
  }
  return out + "</ul>\n";
}

constexpr std::array<std::string_view, 3> kCurveKeys = {R"(<path class="curve first" d="M1 6H21"/>)",
                                                        R"(<path class="curve second" d="M1 6H21"/>)",
                                                        R"(<path class="curve third" d="M1 6H21"/>)"};
constexpr std::array<std::string_view, 3> kPointKeys = {
    R"(<circle class="point first" cx="11" cy="6" r="4.5"/>)",
    R"(<path class="point second" d="M5.5 6L11 .5L16.5 6L11 11.5Z"/>)",
    R"(<line class="point-tick" x1="11" y1="0" x2="11" y2="12"/>)"};
constexpr std::string_view kRangeKey = R"(<line class="range" x1="3" y1="6" x2="19" y2="6"/>)";

std::string facts_html(const std::vector<Fact>& facts) {
  if (facts.empty()) return {};
  std::string out = "<dl class=\"facts\">\n";
  for (const Fact& fact : facts) {
    out += format("<div><dt>{}</dt><dd>{}</dd>", escaped(fact.name), escaped(fact.value));
    if (!fact.note.empty()) out += format("<dd class=\"note\">{}</dd>", escaped(fact.note));
    out += "</div>\n";
  }
  return out + "</dl>\n";
}

std::string findings_html(const Page& page) {
  if (page.findings.empty()) return section("findings", "Findings", {}, paragraph(page.no_findings));
  std::string list = "<ul class=\"findings\">\n";
  for (const PageFinding& finding : page.findings) {
    list += format("<li><b>{}</b>", escaped(finding.title));
    if (!finding.partition.empty()) list += format(" in {}", isolated(finding.partition));
    list += format("<br>{}</li>\n", escaped(finding.text));
  }
  return section("findings", "Findings", {}, list + "</ul>\n");
}

std::string distribution_html(const Distribution& distribution) {
  std::string key;
  if (distribution.split_us) {
    key = key_html({{R"(<rect class="bar" x="3" y="1" width="16" height="10"/>)", "transport mode"},
                    {R"(<rect class="bar second" x="3" y="1" width="16" height="10"/>)", "offline mode"}});
  }
  std::string body = figure_html([&](const Canvas& canvas) { return histogram_svg(distribution, canvas); },
                                 distribution.notes, key);
  body += table_html(distribution.table);
  body += format("<h3>Share of the records beyond each span</h3>\n");
  body += figure_html([&](const Canvas& canvas) { return exceedance_svg(distribution, canvas); }, {});
  return section(distribution.id, distribution.title, distribution.lead, body);
}

std::string rows_html(const SpanRows& rows) {
  std::vector<std::pair<std::string_view, std::string>> entries;
  for (size_t i = 0; i < rows.point_names.size() && i < kPointKeys.size(); ++i) {
    entries.emplace_back(kPointKeys[i], rows.point_names[i]);
  }
  if (!rows.range_name.empty()) entries.emplace_back(kRangeKey, rows.range_name);
  return section(rows.id, rows.title, rows.lead,
                 figure_html([&](const Canvas& canvas) { return rows_svg(rows, canvas); }, rows.notes,
                             key_html(entries)) +
                     table_html(rows.table));
}

std::string series_html(const Series& series) {
  std::vector<std::pair<std::string_view, std::string>> entries;
  for (size_t i = 0; i < series.names.size() && i < kCurveKeys.size(); ++i) {
    entries.emplace_back(kCurveKeys[i], series.names[i]);
  }
  std::vector<std::string> changes;
  for (const SeriesChange& change : series.changes) changes.push_back(change.text);
  return section(series.id, series.title, series.lead,
                 figure_html([&](const Canvas& canvas) { return series_svg(series, canvas); }, series.notes,
                             key_html(entries)) +
                     list_html(changes, "ol class=\"changes\"") + folded_table_html(series.table));
}

std::string staircases_html(const Staircases& sweep) {
  std::string body;
  for (const Staircase& curve : sweep.curves) {
    body += format("<h3>{} for each {}</h3>\n", escaped(curve.title), escaped(curve.setting_name));
    body += figure_html([&](const Canvas& canvas) { return staircase_svg(curve, canvas); }, curve.notes);
  }
  body += list_html(sweep.notes, "ul");
  for (const PageTable& table : sweep.tables) body += table_html(table);
  return section("sweep", sweep.title, sweep.lead, body);
}

std::string setting_html(const std::string& setting) {
  if (setting.empty()) return {};
  return section("setting", "To use it", {}, format("<pre><code>{}</code></pre>\n", escaped(setting)));
}

}  // namespace

std::string page_html(const Page& page) {
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy);
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += format("<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n", escaped(page.title), page_style());
  out += format("<header>\n{}<h1>{}</h1>\n{}</header>\n<main>\n", paragraph(page.kind, "kind"),
                isolated(page.title), paragraph(page.lead, "lead"));
  out += facts_html(page.facts) + findings_html(page) + setting_html(page.setting);
  for (const Distribution& distribution : page.distributions) out += distribution_html(distribution);
  if (page.staircases) out += staircases_html(*page.staircases);
  if (page.series) out += series_html(*page.series);
  if (page.partitions) out += rows_html(*page.partitions);
  out += table_html(page.budget_partitions);
  if (page.producers) out += rows_html(*page.producers);
  out += "</main>\n<footer>\n" + list_html(page.notes, "ul") + "</footer>\n</body>\n</html>\n";
  return out;
}

}  // namespace wrackline::report
