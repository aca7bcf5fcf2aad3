"""What is installed works from outside: a small program finds the kit through CMake and through pkg-config."""
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("WRACKLINE_BUILD", "")
EXPECTED = "5s on time\n30s on time\n15s corrects\n4s ledgered\nwatermark 29000000 us, longest delay 27000000 us\n"


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.prefix = self.folder / "prefix"
        self.run_it("cmake", "--install", BUILD, "--prefix", self.prefix)

    def run_it(self, *command, **environment):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_found_by_cmake(self):
        build = self.folder / "build"
        self.run_it("cmake", "-S", HERE / "consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_it("cmake", "--build", build)
        self.assertEqual(self.run_it(build / "consumer"), EXPECTED)

    def test_found_by_pkg_config(self):
        folder = next(self.prefix.rglob("wrackline.pc")).parent
        flags = self.run_it("pkg-config", "--cflags", "--libs", "wrackline", PKG_CONFIG_PATH=str(folder)).split()
        program = self.folder / "consumer"
        self.run_it("g++", "-std=c++23", HERE / "consumer/main.cc", "-o", program, *flags)
        self.assertEqual(self.run_it(program), EXPECTED)

    def test_the_command_and_its_licence_are_there(self):
        self.assertIn("wrackline", self.run_it(self.prefix / "bin/wrackline", "--version"))
        self.assertEqual({path.name for path in self.prefix.rglob("*") if path.name in ("LICENSE", "NOTICE")}, {"LICENSE", "NOTICE"})


if __name__ == "__main__":
    unittest.main()
