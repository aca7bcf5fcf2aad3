// Hides values of named columns in entries before they are written: in the payload, in the key, and in
// details that quote them. What cannot be told apart is withheld as a whole: nothing is kept that might hold
// a value.
//
// Threads: the writer's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/field_rewriter.h"
#include "ledger/ledger.h"

namespace wrackline::ledger {

class Masker {
 public:
  explicit Masker(MaskRule rule);
  // Sets payload, payload_state, key and detail. Cost: a microsecond a hash, and the payload read twice.
  void hide(Entry& entry);

 private:
  std::string hidden(Hide how, std::string_view content) const;
  void hide_key(Entry& entry);
  void hide_payload(Entry& entry);
  void withhold(Entry& entry) const;
  void hide_detail(Entry& entry) const;

  MaskRule rule_;
  formats::FieldRewriter payload_;
  formats::FieldRewriter key_;
  std::vector<Hide> key_hides_;  // of the keys that key_ rewrites
  std::vector<size_t> places_;   // of the masked fields, in the payload at hand
};

}  // namespace wrackline::ledger
