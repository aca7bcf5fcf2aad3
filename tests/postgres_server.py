"""A PostgreSQL server of its own for a test: from the distribution's package, in a temporary folder, behind a socket there.

The server refuses to run as root, so root's tests run it as nobody.
"""
import ctypes
import glob
import os
import signal
import subprocess
import tempfile
import time

NOBODY = 65534
PR_SET_PDEATHSIG = 1


def binaries():
    """The folder of the newest server that is installed, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


class PostgresServer:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="wrackline-postgres-")
        self.folder = self._folder.name
        self.process = None
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        made = self._spawn("initdb", "-D", f"{self.folder}/data", "-U", "wrackline", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        if made.wait() != 0:
            with open(f"{self.folder}/server.log") as log:
                raise AssertionError(f"initdb failed:\n{log.read()}")
        self.start()

    @property
    def url(self):
        return f"host={self.folder} user=wrackline dbname=postgres"

    def _spawn(self, program, *arguments):
        def restrict():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)  # no server outlives its test

        with open(f"{self.folder}/server.log", "ab") as log:
            return subprocess.Popen([f"{binaries()}/{program}", *arguments], cwd="/", stdout=log, stderr=log, preexec_fn=restrict)

    def start(self, seconds_max=30):
        until = time.monotonic() + seconds_max
        while time.monotonic() < until:
            # After a kill it ends at once while processes of the old one still hold the shared memory.
            if self.process is None or self.process.poll() is not None:
                self.process = self._spawn("postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-c", "listen_addresses=",
                                           "-c", "fsync=off", "-c", "shared_buffers=16MB")
            if self._psql("SELECT 1").returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError("the server does not start")

    def kill(self, how=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def close(self):
        self.kill(signal.SIGQUIT)
        self._folder.cleanup()

    def _psql(self, sql):
        return subprocess.run([f"{binaries()}/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c", sql],
                              capture_output=True, text=True)

    def query(self, sql):
        """The rows as lists of texts. Values with a | or a line break in them are not for this."""
        outcome = self._psql(sql)
        if outcome.returncode != 0:
            raise RuntimeError(outcome.stderr)
        return [line.split("|") for line in outcome.stdout.splitlines()]
