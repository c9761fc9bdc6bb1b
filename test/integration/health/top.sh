#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `ucx-verity top` at a pseudo terminal: what it draws, its keys, a window of another size, and the terminal as it was at every end.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
tool=$build/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"
command -v python3 > /dev/null || skip_all "no python3"

# Files of twelve processes that ended, and two that run.
export UCX_VERITY_HEALTH_DIR=$tap_dir/health UCX_VERITY_HOST=alpha
mkdir "$UCX_VERITY_HEALTH_DIR"
mpi_clean "jobs whose files are shown" ' wrong 0 lost 0 ' 200 "$openmpi" 6 vposix,vself mixed -n 50
mpi_clean "and a longer one" ' wrong 0 lost 0 ' 200 "$openmpi" 6 vposix,vself mixed -n 500
mpi_run 500 "$openmpi" 2 vposix,vself hello_integrity 1000000000 1000 > "$tap_dir/job" 2>&1 &
job=$!

cat > "$tap_dir/drive.py" << 'PY'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

tool, folder = sys.argv[1:3]
number = 0


def result(good, name, *facts):
    global number
    number += 1
    print("%s %d - %s" % ("ok" if good else "not ok", number, name))
    for fact in () if good else facts:
        print("# " + repr(fact)[:1500])


class Top:
    def __init__(self, *options, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.close(self.master)
            os.execv(tool, [tool, "top", *options, folder])

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def take(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.output += os.read(self.master, 65536)

    # The lines of the last whole screen; none yet: [].
    def screen(self):
        frames = self.output.split(b"\x1b[H")[1:]
        whole = [frame for frame in frames if b"\x1b[J" in frame]
        if not whole:
            return []
        text = whole[-1][: whole[-1].index(b"\x1b[J")].decode()
        return [line.replace("\x1b[K", "").rstrip("\r") for line in text.split("\n")]  # the terminal adds one

    # The lines of the first whole screen from byte `start` of the output on whose heading is `title`.
    def first(self, start, title):
        for frame in self.output[start:].split(b"\x1b[H")[1:]:
            lines = frame.split(b"\x1b[J")[0].decode().replace("\x1b[K", "").replace("\r", "").split("\n")
            if b"\x1b[J" in frame and len(lines) > 2 and lines[2].startswith(title):
                return lines
        return []

    def frames(self):
        return self.output.count(b"\x1b[J")

    # Until the screen is as wanted; a busy machine may need long.
    def until(self, wanted):
        end = time.time() + 60
        while time.time() < end:
            if wanted(self.screen()):
                return True
            self.take(0.1)
        return False

    # The status with which it ends, having told all that it says.
    def end(self):
        end = time.time() + 60
        while time.time() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                # All of it: a read of a pseudo terminal gives no more than a part, however large its buffer.
                while select.select([self.master], [], [], 0)[0]:
                    self.take(0)
                return os.waitstatus_to_exitcode(status)
            self.take(0.1)
        os.kill(self.pid, signal.SIGKILL)
        return "killed"

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before and self.output.endswith(b"\x1b[?25h\x1b[?1049l")


def rows_of(screen):
    return [line for line in screen[3:-1] if line.strip()]


UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4}


# The number of bytes in front of that unit, counted from the line's end: verified is the last but one.
def verified(line):
    value, unit = re.findall(r"([0-9.]+) ([KMGT]i?B|B)(?!/s)", line)[0]
    return float(value) * 1024 ** UNITS[unit]


# A screen of 24 x 80.
top = Top("--ended", "-d", "0.2")
good = top.until(lambda s: len(rows_of(s)) == 14)
screen = top.screen()
result(good, "it shows all processes", screen)
result(len(screen) == 24, "24 lines", len(screen))
result(all(len(line) <= 80 for line in screen), "of at most 80 columns", screen)
result("PROCESS" in screen[2] and "VERIFIED" in screen[2], "with a heading", screen)
result("q quit" in screen[-1], "and the keys in the last line", screen[-1])
frames = top.frames()
result(top.until(lambda s: top.frames() > frames + 2), "it draws again by itself")
texts = set()
result(top.until(lambda s: texts.update(rows_of(s)) or len(texts) > 16), "with numbers that move", texts)

# The keys.
top.press("n")
names = lambda s: [line[:25] for line in rows_of(s)]
result(top.until(lambda s: len(names(s)) == 14 and names(s) == sorted(names(s))), "n sorts by name", names(top.screen()))
top.press("v")
most = lambda s: [verified(line) for line in rows_of(s)]
result(top.until(lambda s: len(most(s)) == 14 and most(s) == sorted(most(s), reverse=True)), "v by what was verified", top.screen())
result(names(top.screen()) != sorted(names(top.screen())), "which is another order", top.screen())
top.press("b")
result(top.until(lambda s: len(rows_of(s)) == 14 and " 0 B/s" not in rows_of(s)[0] and " 0 B/s" in rows_of(s)[13]), "b by bytes per second",
       top.screen())
for key, heading, row in (("2", "PATH", "vposix/memory"), ("3", "DEVICE", "memory"), ("4", "PEER", "alpha"), ("1", "PROCESS", "hello_integrity")):
    top.press(key)
    result(top.until(lambda s: s and s[2].startswith(heading) and any(row in line for line in rows_of(s))), key + " shows by " + heading.lower(),
           top.screen())
top.press("?")
result(top.until(lambda s: s and "keys" in s[0] and any("sort by repaired" in line for line in s)), "? shows the keys", top.screen())
top.press("?")
result(top.until(lambda s: s and s[2].startswith("PROCESS")), "and leaves them", top.screen())
top.press("e")
result(top.until(lambda s: len(rows_of(s)) == 2), "e leaves those that ended out", top.screen())
top.press("ex\x1b[A")
result(top.until(lambda s: len(rows_of(s)) == 14), "and in again; a key that is none harms nothing", top.screen())

# Windows of all sizes.
for rows, columns in ((10, 60), (50, 132), (1, 5), (3, 1), (24, 80)):
    top.resize(rows, columns)
    good = top.until(lambda s: len(s) == rows and all(len(line) <= columns for line in s))
    result(good, "a window of %d x %d" % (rows, columns), top.screen())
result(top.until(lambda s: len(rows_of(s)) == 14), "all is there again", top.screen())

# Rates right after another view is chosen: those of the last look, which was long enough.
slow = Top("-d", "2")
moving = lambda s: len(rows_of(s)) == 2 and all(" 0 B/s" not in line for line in rows_of(s))
result(slow.until(moving), "rates by process", slow.screen())
for key, title in (("2", "PATH"), ("3", "DEVICE"), ("1", "PROCESS")):
    start = len(slow.output)
    slow.press(key)
    slow.until(lambda s: s and s[2].startswith(title))
    screen = slow.first(start, title)
    result(len(rows_of(screen)) > 0 and " 0 B/s" not in rows_of(screen)[0], "rates at once by " + title.lower(), screen)
slow.press("q")
slow.end()

# Its ends.
top.press("q")
status = top.end()
result(status == 0, "q ends it with 0", status)
result(top.restored(), "the terminal is as it was", top.output[-40:])
result(top.output.startswith(b"\x1b[?1049h\x1b[?25l"), "it drew on another screen", top.output[:40])
for name, action in (("^C", lambda t: t.press("\x03")), ("SIGTERM", lambda t: os.kill(t.pid, signal.SIGTERM)), ("SIGHUP", lambda t: os.kill(t.pid, signal.SIGHUP))):
    top = Top("-d", "3600")
    top.until(lambda s: s)
    action(top)
    status = top.end()
    result(status == 0 and top.restored(), name + " ends it, and the terminal is as it was", status, top.output[-40:])

# A window changed while it waits for long is drawn at once, not at the next look.
top = Top("-d", "3600")
top.until(lambda s: s)
top.resize(12, 70)
result(top.until(lambda s: len(s) == 12), "a changed window is drawn at once", top.screen())

# Stopped (^Z) and continued.
top.press("\x1a")
pid, status = os.waitpid(top.pid, os.WUNTRACED)
top.take(1)
result(os.WIFSTOPPED(status) and top.restored(), "^Z stops it, and the terminal is as it was", status, top.output[-40:])
frames = top.frames()
os.kill(top.pid, signal.SIGCONT)
result(top.until(lambda s: top.frames() > frames), "continued, it draws again", top.output[-40:])
os.close(top.slave)
os.close(top.master)
end = time.time() + 60
pid = 0
while pid == 0 and time.time() < end:
    pid, status = os.waitpid(top.pid, os.WNOHANG)
    time.sleep(0.05)
result(pid != 0, "a terminal that goes away ends it")

# A number of looks.
top = Top("-n", "2", "-d", "0.1")
result(top.end() == 0 and top.frames() == 2 and top.restored(), "-n 2 draws twice", top.output[-200:])
print("1..%d" % number)
PY
tap_of "terminal" timeout -k 5 500 python3 "$tap_dir/drive.py" "$tool" "$UCX_VERITY_HEALTH_DIR"
end_job "$job"
wait "$job" 2> /dev/null
left() { pgrep -f "^$build/test/mpi/hello_integrity 1000000000 1000"; }
for _ in $(seq 100); do
  left > /dev/null || break
  sleep 0.1
done
is "the job has ended" "$(left)" ""

# No terminal.
contains "to a file: it names --batch" "$("$tool" top "$UCX_VERITY_HEALTH_DIR" 2>&1 < /dev/null)" '^ucx-verity top: this is no terminal: use --batch$'
is "with status 2" "$("$tool" top "$UCX_VERITY_HEALTH_DIR" > /dev/null 2>&1 < /dev/null; echo $?)" 2
lacks "--batch writes no sequences" "$("$tool" top --batch -n 1 --ended "$UCX_VERITY_HEALTH_DIR")" $'\x1b'

done_testing
