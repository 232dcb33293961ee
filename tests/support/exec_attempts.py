"""Ways out of a sandbox, as a table. Each is a program that either gets through or is refused with an OSError."""

from __future__ import annotations

import fcntl
import platform
import struct
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

# What every attempt starts with: where it is, what it aims at, and the kernel without a library in between.
PRELUDE = r"""
import array, ctypes, errno, fcntl, mmap, os, platform, signal, socket, struct, subprocess, sys, termios
WORK, OUT, VICTIM, TCP, UDP, ABSTRACT = sys.argv[1:7]
VICTIM, TCP, UDP = int(VICTIM), int(TCP), int(UDP)
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"

def must(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def call(number, *words):
    return must(libc.syscall(ctypes.c_long(number), *(ctypes.c_long(w) if isinstance(w, int) else w for w in words)))

def put(path, text="escaped", how="w"):
    with open(path, how) as file:
        file.write(text)

def refused(work):
    try:
        work()
    except OSError as fault:
        print("refused", errno.errorcode.get(fault.errno, fault.errno))
    else:
        print("escaped")
"""


@dataclass(frozen=True)
class Attempt:
    """A way out; `plain` ones work for anybody where there is no sandbox, which proves that they are real."""

    name: str
    code: str
    plain: bool = False
    mounts: str = ""  # what only a sandbox with mounts of its own refuses to let it do
    landlock: int = 0  # the version of Landlock that refuses it where there are no namespaces
    filtered: bool = False  # the filter refuses it before the kernel looks at it: with EPERM and nothing else
    machine: str = ""


def _table() -> list[Attempt]:
    plain, traced, filtered = {"plain": True}, {"plain": _may_trace()}, {"filtered": True}
    modes = {"plain": True, "mounts": "change modes and times"}
    guarded = {"plain": True, "mounts": "change repositories and settings"}
    rows: list[tuple[str, str, dict[str, Any]]] = [
        # Files
        ("make a file outside", "put(OUT + '/new')", plain),
        ("overwrite a file outside", "put(OUT + '/kept')", plain),
        ("append to a file outside", "put(OUT + '/kept', how='a')", plain),
        ("write through a linked folder", "os.symlink(OUT, WORK + '/l'); put(WORK + '/l/new')", plain),
        ("write through a linked file", "os.symlink(OUT + '/kept', WORK + '/l'); put(WORK + '/l')", plain),
        ("write through dots", "put(WORK + '/../outside/new')", plain),
        ("make a hard link to the outside", "os.link(OUT + '/kept', WORK + '/h'); put(WORK + '/h')", plain),
        ("make a hard link on the outside", "put(WORK + '/f'); os.link(WORK + '/f', OUT + '/new')", plain),
        ("rename a file out", "put(WORK + '/f'); os.rename(WORK + '/f', OUT + '/new')", plain),
        ("rename a file over one outside", "put(WORK + '/f'); os.rename(WORK + '/f', OUT + '/kept')", plain),
        ("rename a file in", "os.rename(OUT + '/kept', WORK + '/f')", plain),
        ("remove a file outside", "os.unlink(OUT + '/kept')", plain),
        ("make a folder outside", "os.mkdir(OUT + '/new')", plain),
        ("remove a folder outside", "os.rmdir(OUT + '/folder')", plain),
        ("make a link outside", "os.symlink('/', OUT + '/new')", plain),
        ("make a fifo outside", "os.mkfifo(OUT + '/new')", plain),
        ("cut a file short", "os.truncate(OUT + '/kept', 0)", plain),
        ("cut a file short by opening it", "os.open(OUT + '/kept', os.O_RDONLY | os.O_TRUNC)", plain),
        ("make a file outside setuid", "os.chmod(OUT + '/kept', 0o4755)", plain),
        ("change a mode outside", "os.chmod(OUT + '/kept', 0o777)", modes),
        ("change times outside", "os.utime(OUT + '/kept', (1, 1))", modes),
        ("change flags outside", "fcntl.ioctl(os.open(OUT + '/kept', os.O_RDONLY), 0x40086602, struct.pack('l', 64))",
         modes | {"plain": _keeps_flags()}),
        ("make a character device", "os.mknod(WORK + '/d', 0o20666, os.makedev(1, 3))", {}),
        ("make a block device", "os.mknod(WORK + '/d', 0o60666, os.makedev(7, 0))", {}),
        ("move the workspace away", "os.rename(WORK, WORK + '-gone')", plain),
        # The repository and the settings
        ("write a git hook", "put(WORK + '/.git/hooks/post-checkout')", guarded),
        ("write a hook of a repository beneath", "put(WORK + '/sub/repo/.git/hooks/post-checkout')", guarded),
        ("change the git configuration", "put(WORK + '/.git/config', how='a')", guarded),
        ("move the repository away", "os.rename(WORK + '/.git', WORK + '/g'); os.mkdir(WORK + '/.git')", guarded),
        ("remove the repository", "__import__('shutil').rmtree(WORK + '/.git')", guarded),
        ("swap the repository for another", "os.mkdir(WORK + '/g'); call(316 if X86 else 276, -100, "
         "(WORK + '/g').encode(), -100, (WORK + '/.git').encode(), 2)", guarded),
        ("repoint a worktree", "put(WORK + '/tree/.git', 'gitdir: /')", guarded),
        ("write to a worktree's repository", "put(WORK + '/store/config')", guarded),
        ("write the agents' settings", "put(WORK + '/.threadloom/config.toml')", guarded),
        ("write Codex's settings", "put(WORK + '/.codex/config.toml')", guarded),
        ("make settings where there are none", "os.makedirs(WORK + '/tree/.threadloom', exist_ok=True); "
         "put(WORK + '/tree/.threadloom/config.toml')", guarded),
        ("move away what keeps settings out", "os.makedirs(WORK + '/tree/.threadloom', exist_ok=True); "
         "os.rename(WORK + '/tree/.threadloom', WORK + '/s'); os.mkdir(WORK + '/tree/.threadloom')", guarded),
        ("write the settings of the server", "put(WORK + '/home/config.toml')", guarded),
        ("swap the home of the server", "os.rename(WORK + '/home', WORK + '/h'); os.mkdir(WORK + '/home')", guarded),
        # Mounts and namespaces
        ("mount", "must(libc.mount(b'none', (WORK + '/sub').encode(), b'tmpfs', 0, None))", filtered),
        ("bind the outside", "must(libc.mount(OUT.encode(), (WORK + '/sub').encode(), None, 4096, None)); "
         "put(WORK + '/sub/new')", filtered),
        ("remount the root", "must(libc.mount(None, b'/', None, 32 | 4096, None)); put(OUT + '/new')", filtered),
        ("unmount the guard of the repository", "must(libc.umount2((WORK + '/.git').encode(), 2))", filtered),
        ("the new way to mount", "call(428, -100, OUT.encode(), 1)", filtered),
        ("open a file system", "call(430, b'tmpfs', 0)", filtered),
        ("change root", "os.chroot(OUT)", filtered),
        ("pivot root", "call(155 if X86 else 41, b'.', b'.')", filtered),
        ("enter a namespace", "must(libc.setns(os.open('/proc/self/ns/net', os.O_RDONLY), 0))", filtered),
        ("get a user namespace", "must(libc.unshare(0x10000000))", filtered),
        ("fork into a user namespace", "call(56 if X86 else 220, 0x10000000 | 17, 0, 0, 0, 0)", filtered),
        ("fork into one the new way", "call(435, struct.pack('=11Q', 0x10000000, 0, 0, 0, 17, *[0] * 6), 88)", {}),
        # Other processes
        ("trace a process outside", "must(libc.ptrace(16, VICTIM, 0, 0))", filtered),
        ("trace the parent", "must(libc.ptrace(0x4206, os.getppid(), 0, 0))", filtered),
        ("write from a process that outlives its parent", OUTLIVING, plain),
        ("write to a process outside", "os.open(f'/proc/{VICTIM}/mem', os.O_RDWR)", traced),
        ("write to the parent", "os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)", traced),
        ("write to the first process", "os.open('/proc/1/mem', os.O_RDWR)", {}),
        ("read the first process", "os.open('/proc/1/mem', os.O_RDONLY)", {}),
        ("read the memory of a process outside", "call(310 if X86 else 270, VICTIM, 0, 0, 0, 0, 0)", traced),
        ("write the memory of a process outside", "call(311 if X86 else 271, VICTIM, 0, 0, 0, 0, 0)", traced),
        ("write through the first process's root", "put('/proc/1/root' + OUT + '/new')", {}),
        ("write through a process's root", "put(f'/proc/{VICTIM}/root{OUT}/new')", plain),
        ("write through the parent's folder", "put(f'/proc/{os.getppid()}/cwd{OUT}/new')", {}),
        ("limit a process outside", "call(302 if X86 else 261, VICTIM, 4, struct.pack('=2Q', 0, 0), 0)", plain),
        ("take a descriptor", "call(438, call(434, os.getppid(), 0), 1, 0)", traced),
        # The kernel
        ("change the kernel's settings", "put('/proc/sys/kernel/panic', open('/proc/sys/kernel/panic').read())", {}),
        ("reach for the system keys", "open('/proc/sysrq-trigger', 'w')", {}),
        ("set the name of the machine", "must(libc.sethostname(b'x', 1))", filtered),
        ("set the clock", "call(227 if X86 else 112, 0, struct.pack('=qq', 1, 1))", filtered),
        ("use io_uring", "call(425, 8, ctypes.create_string_buffer(248))", filtered),
        ("use keys", "call(250 if X86 else 219, 0, -3, 0)", filtered),
        ("use userfaultfd", "call(323 if X86 else 282, 1)", filtered),
        ("use bpf", "call(321 if X86 else 280, 0, ctypes.create_string_buffer(128), 128)", filtered),
        ("use perf events", "call(298 if X86 else 241, bytes([1, *[0] * 127]), 0, -1, -1, 0)", filtered),
        ("open by handle", "call(304 if X86 else 265, -100, ctypes.create_string_buffer(64), 0)", filtered),
        ("write to a disk", "os.open('/dev/' + min(os.listdir('/sys/block'), default='none'), os.O_WRONLY)", {}),
        ("write to a terminal of the system", "os.open('/dev/tty1', os.O_WRONLY)", {}),
        ("type on a terminal", "fcntl.ioctl(0, 0x5412, b'x')", filtered),
        # The network
        ("connect by TCP", "socket.create_connection(('127.0.0.1', TCP), 2)", plain),
        ("send by UDP", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))", plain),
        ("listen by TCP", "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()", plain),
        ("bind by UDP", "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).bind(('::', 0))", filtered),
        ("accept a connection", "socket.socket(socket.AF_UNIX).accept()", filtered),
        ("accept one the old way", "call(43 if X86 else 202, socket.socket(socket.AF_UNIX).fileno(), 0, 0)", filtered),
        ("talk to the kernel's network", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", plain),
        ("connect to a socket file", "socket.socket(socket.AF_UNIX).connect(OUT + '/stream')", plain),
        ("connect to an abstract socket", "socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT)", plain),
        ("send to a socket file", "socket.socket(1, socket.SOCK_DGRAM).sendto(b'x', OUT + '/datagram')", plain),
        ("send from a raw unix socket", "socket.socket(socket.AF_UNIX, socket.SOCK_RAW).sendmsg([b'x'], [], 0, "
         "OUT + '/datagram')", plain),
        ("send from a pair of sockets", "socket.socketpair(1, socket.SOCK_DGRAM)[0].sendmsg([b'x'], [], 0, "
         "OUT + '/datagram')", plain),
        ("listen at a socket file", "s = socket.socket(socket.AF_UNIX); s.bind(WORK + '/s'); s.listen()", plain),
        ("listen at an abstract socket", "socket.socket(socket.AF_UNIX).bind('\\0' + ABSTRACT + 'x')", plain),
    ]  # fmt: skip
    return [Attempt(name, code, **flags) for name, code, flags in rows] + [
        Attempt("kill a process outside", "os.kill(VICTIM, 9)", plain=True, landlock=6),
        Attempt(
            "call by the x32 numbers",
            "call(0x40000000 | 425, 8, ctypes.create_string_buffer(248))",
            filtered=True,
            machine="x86_64",
        ),
        Attempt("call as a 32-bit program", THIRTY_TWO_BITS, filtered=True, machine="x86_64"),
    ]


# A grandchild in a session of its own, which waits until nobody is left who started it.
OUTLIVING = """
read, write = os.pipe()
if not os.fork():
    os.setsid()
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        os.sched_yield()
    try:
        put(OUT + '/new')
    except OSError as fault:
        os.write(write, str(fault.errno).encode())
    os._exit(0)
os.close(write)
said = os.read(read, 9)
if said:
    raise OSError(int(said), "refused")
"""

# getpid by `int 0x80`, with the numbers of another architecture.
THIRTY_TWO_BITS = """
code = mmap.mmap(-1, 4096, prot=7); code.write(bytes.fromhex("b814000000cd80c3"))
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
result = function()
if result < 0:
    raise OSError(-result, "refused")
"""


def _may_trace() -> bool:
    """Whether a process may look into another of the same user, where there is no sandbox."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return not scope.exists() or scope.read_text().strip() == "0"


def _keeps_flags() -> bool:
    """Whether files here have such flags: not every file system knows any."""
    with TemporaryFile() as file:
        try:
            fcntl.ioctl(file, 0x40086602, struct.pack("l", 64))
        except OSError:
            return False
    return True


def program(code: str) -> str:
    """The source of an attempt."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    return f"{PRELUDE}\ndef attempt():\n{body}\n\nrefused(attempt)\n"


ATTEMPTS = [attempt for attempt in _table() if attempt.machine in ("", platform.machine())]
