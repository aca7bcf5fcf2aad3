// HMAC-SHA-256 (RFC 2104, FIPS 198-1), from OpenSSL: only who has the key can tell which value a hash is of.
#pragma once

#include <string>
#include <string_view>

namespace wrackline::ledger {

// The first 32 of its 64 hexadecimal digits: 128 bits (RFC 2104, section 5). The same as
// `printf %s VALUE | openssl dgst -sha256 -hmac KEY` begins with.
std::string keyed_hash(std::string_view key, std::string_view value);

}  // namespace wrackline::ledger
