#include "expr/like.h"

#include <cstddef>

#include "expr/utf8.h"

namespace wrackline::expr {
namespace {

// Where matching goes on after a mismatch: after the last %, which then swallows one character more. Earlier
// % need not be tried again: whatever they could give up, the last one can take.
struct Retry {
  size_t text_at = 0;
  size_t pattern_at = std::string_view::npos;
};

}  // namespace

LikeResult match_like(std::string_view text, std::string_view pattern) {
  Retry retry;
  size_t t = 0;
  size_t p = 0;
  for (;;) {
    if (p < pattern.size() && pattern[p] == '%') {
      ++p;
      if (p == pattern.size()) return LikeResult::kYes;
      retry = {t, p};
      continue;
    }
    if (t == text.size() && p == pattern.size()) return LikeResult::kYes;
    if (t < text.size() && p < pattern.size()) {
      if (pattern[p] == '_') {
        t += utf8_size(text, t);
        ++p;
        continue;
      }
      const bool escaped = pattern[p] == '\\';
      if (escaped && p + 1 == pattern.size()) return LikeResult::kBadPattern;
      const size_t literal = escaped ? p + 1 : p;
      if (pattern[literal] == text[t]) {
        ++t;
        p = literal + 1;
        continue;
      }
    }
    // A text that is used up cannot match by giving % more of it.
    if (retry.pattern_at == std::string_view::npos || retry.text_at >= text.size()) return LikeResult::kNo;
    retry.text_at += utf8_size(text, retry.text_at);
    t = retry.text_at;
    p = retry.pattern_at;
  }
}

}  // namespace wrackline::expr
