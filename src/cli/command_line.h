// The command line: words to commands. The one place that knows the library behind it.
#pragma once

namespace wrackline::cli {

int run_command_line(int argc, char** argv);

}  // namespace wrackline::cli
