#include "ledger/keyed_hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::ledger {

std::string keyed_hash(std::string_view key, std::string_view value) {
  constexpr size_t kBytes = 16;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(value.data()), value.size(), digest.data(), &size);
  WRACKLINE_CHECK(done != nullptr && size >= kBytes, "OpenSSL computes HMAC-SHA-256");
  std::string text;
  for (size_t i = 0; i < kBytes; ++i) text += format("{:02x}", digest[i]);
  return text;
}

}  // namespace wrackline::ledger
