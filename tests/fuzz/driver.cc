// Runs a libFuzzer target without libFuzzer: replays its corpus, then mutates it with a seeded generator for some
// seconds. So every fuzz target is also a test, on any compiler. With -fsanitize=fuzzer this file is left out.
//
// Usage: target --seconds=N --seed=N CORPUS_DIR...
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

// The input is in its own exact allocation, so that a sanitizer sees a read past its end.
void run(const Bytes& input) {
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void mutate(Bytes& input, const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % (limit == 0 ? 1 : limit)); };
  constexpr std::string_view kTokens[] = {"\"", "\\", "{", "}", "[", ":", ",", "\n", "\r\n", "\\u0000", "-", "1e999", "'", "(",
                                          ")", "9223372036854775808", "T24:00:00Z", "\xff", "null", "2024-02-29", ".", " "};
  switch (below(6)) {
    case 0:
      if (!input.empty()) input[below(input.size())] = static_cast<uint8_t>(random());
      break;
    case 1:
      if (!input.empty()) input.erase(input.begin() + static_cast<ptrdiff_t>(below(input.size())));
      break;
    case 2: {
      const std::string_view token = kTokens[below(std::size(kTokens))];
      input.insert(input.begin() + static_cast<ptrdiff_t>(below(input.size() + 1)), token.begin(), token.end());
      break;
    }
    case 3: input.resize(below(input.size() + 1)); break;
    case 4: {  // splice with another input
      const Bytes& other = corpus[below(corpus.size())];
      const size_t from = below(other.size() + 1);
      input.insert(input.begin() + static_cast<ptrdiff_t>(below(input.size() + 1)),
                   other.begin() + static_cast<ptrdiff_t>(from), other.end());
      break;
    }
    default: {  // repeat a part
      const size_t from = below(input.size() + 1);
      const Bytes part(input.begin() + static_cast<ptrdiff_t>(from), input.end());
      input.insert(input.end(), part.begin(), part.end());
      break;
    }
  }
  if (input.size() > 65536) input.resize(65536);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 1;
  uint64_t seed = 1;
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--seconds=")) {
      seconds = std::strtod(argv[i] + 10, nullptr);
    } else if (argument.starts_with("--seed=")) {
      seed = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& file : std::filesystem::directory_iterator(argument)) {
        std::ifstream in(file.path(), std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      }
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus: a fuzzer that starts from nothing checks nothing\n");
    return 1;
  }
  for (const Bytes& input : corpus) run(input);
  std::mt19937_64 random(seed);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t runs = corpus.size();
  while (std::chrono::steady_clock::now() < stop) {
    Bytes input = corpus[random() % corpus.size()];
    const size_t steps = 1 + random() % 4;
    for (size_t i = 0; i < steps; ++i) mutate(input, corpus, random);
    run(input);
    ++runs;
  }
  std::printf("%zu inputs, seed %llu\n", runs, static_cast<unsigned long long>(seed));
  return 0;
}
