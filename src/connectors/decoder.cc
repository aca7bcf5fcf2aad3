#include "connectors/decoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::connectors {
namespace {

using namespace std::string_view_literals;

struct Mark {
  std::string_view bytes;
  Compression compression;     // kNone: not supported
  std::string_view name = {};  // of what is not supported
  std::string_view way_out = {};
};

constexpr std::array kMarks = {
    Mark{"\x1f\x8b"sv, Compression::kGzip},
    Mark{"\x28\xb5\x2f\xfd"sv, Compression::kZstd},
    Mark{"BZh91AY&SY"sv, Compression::kNone, "bzip2", "bzip2 -dc FILE | gzip > FILE.gz"},
    Mark{"\xfd"
         "7zXZ\0"sv,
         Compression::kNone, "xz", "xz -dc FILE | gzip > FILE.gz"},
    Mark{"\x04\x22\x4d\x18"sv, Compression::kNone, "lz4", "lz4 -dc FILE | gzip > FILE.gz"},
    Mark{"PK\x03\x04"sv, Compression::kNone, "zip", "unzip -p FILE | gzip > FILE.gz"},
    Mark{"PAR1\x15"sv, Compression::kNone, "Parquet", "duckdb -c \"COPY (FROM 'FILE') TO 'FILE.csv'\""},
    Mark{"\xff\xfe"sv, Compression::kNone, "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
    Mark{"\xfe\xff"sv, Compression::kNone, "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
};

// A zstd file may open with frames to skip: 50 to 5f, then a fixed rest.
constexpr std::string_view kSkippableRest = "\x2a\x4d\x18"sv;
bool is_skippable(std::string_view head) {
  return !head.empty() && (static_cast<unsigned char>(head[0]) & 0xf0) == 0x50 &&
         head.substr(1).starts_with(
             kSkippableRest.substr(0, std::min(head.size() - 1, kSkippableRest.size())));
}

std::unexpected<Error> corrupt(Compression compression, std::string detail) {
  return fail(ErrorCode::kData, format("{} data is corrupt", to_string(compression)), std::move(detail));
}

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    WRACKLINE_CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK, "zlib has no memory");
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Result<Step> decode(std::string_view in, char* out, size_t out_size) override {
    if (between_members_) {
      if (in.empty()) return Step{};
      if (in.front() == '\0' && members_ > 0) return skip_padding(in);
      if (in.front() != '\x1f' || padded_)
        return corrupt(Compression::kGzip, "what follows the last member is no gzip member");
      between_members_ = false;
      inflateReset(&stream_);
    }
    constexpr size_t kPieceMax = size_t{1} << 30;  // zlib counts in 32 bits
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(std::min(in.size(), kPieceMax));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(out_size, kPieceMax));
    const uInt given = stream_.avail_in;
    const uInt room = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const Step step{given - stream_.avail_in, room - stream_.avail_out};
    if (code == Z_STREAM_END) {
      between_members_ = true;
      ++members_;
    } else if (code != Z_OK && code != Z_BUF_ERROR && step.made == 0) {
      return corrupt(Compression::kGzip, stream_.msg != nullptr ? stream_.msg : zError(code));
    }
    return step;
  }

  bool may_end() const override { return between_members_; }

 private:
  Result<Step> skip_padding(std::string_view in) {
    padded_ = true;
    return Step{std::min(in.find_first_not_of('\0'), in.size()), 0};
  }

  z_stream stream_{};
  bool between_members_ = true;
  bool padded_ = false;
  uint64_t members_ = 0;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {
    WRACKLINE_CHECK(stream_ != nullptr, "zstd has no memory");
    wanted_ = ZSTD_initDStream(stream_);
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  // zstd is given no more than the block that it asks for: a call that meets an error does not say how much
  // it made of the blocks before, and those hold records.
  Result<Step> decode(std::string_view in, char* out, size_t out_size) override {
    ZSTD_inBuffer from{in.data(), std::min(in.size(), std::max<size_t>(wanted_, 1)), 0};
    ZSTD_outBuffer to{out, out_size, 0};
    if (from.size == 0 && may_end_) return Step{};
    const size_t code = ZSTD_decompressStream(stream_, &to, &from);
    if (ZSTD_isError(code) != 0) return corrupt(Compression::kZstd, ZSTD_getErrorName(code));
    may_end_ = code == 0;
    wanted_ = code == 0 ? first_wanted() : code;
    return Step{from.pos, to.pos};
  }

  bool may_end() const override { return may_end_; }

 private:
  static size_t first_wanted() { return 5; }  // the shortest head of a frame; more is asked for when needed

  ZSTD_DStream* stream_;
  size_t wanted_ = 0;
  bool may_end_ = true;
};

}  // namespace

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "plain";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
  }
  return "plain";
}

Compression compression_of_name(std::string_view name) {
  const auto ends_with = [&](std::string_view ending) {
    if (name.size() < ending.size()) return false;
    return std::ranges::equal(name.substr(name.size() - ending.size()), ending,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; });
  };
  if (ends_with(".gz")) return Compression::kGzip;
  return ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Result<std::optional<Compression>> recognise(std::string_view head, bool at_end) {
  bool undecided = false;
  for (const Mark& mark : kMarks) {
    if (!mark.bytes.starts_with(head.substr(0, mark.bytes.size()))) continue;
    if (head.size() < mark.bytes.size()) {
      undecided = true;
    } else if (mark.compression != Compression::kNone) {
      return mark.compression;
    } else {
      return fail(ErrorCode::kUnsupported, format("{} input is not supported", mark.name),
                  "Plain text in UTF-8, gzip and zstd are.", format("Convert it first: {}", mark.way_out));
    }
  }
  if (is_skippable(head)) {
    if (head.size() > kSkippableRest.size()) return Compression::kZstd;
    undecided = true;
  }
  if (undecided && !at_end) return std::optional<Compression>();
  return Compression::kNone;
}

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  WRACKLINE_CHECK(compression != Compression::kNone, "nothing to decode");
  if (compression == Compression::kGzip) return std::make_unique<GzipDecoder>();
  return std::make_unique<ZstdDecoder>();
}

}  // namespace wrackline::connectors
