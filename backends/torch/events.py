"""What a program does that tells what it depends on: events of Python's, functions and methods by name, and why what
they give cannot be looked at again.
"""

import os
import platform
import re
import time

NETWORK, PROCESS, NATIVE, CLOCK, MACHINE = (
    "it uses the network", "it begins a process", "it runs code that is not Python's", "it reads the clock",
    "it asks for the machine or the process that it runs on",
)  # fmt: skip
EVENTS = {
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostname", "socket.sendto",
                     "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo", "socket.sendmsg",
                     "urllib.Request"), NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
                     "pty.spawn"), PROCESS),
    "sqlite3.connect": NATIVE,
    **dict.fromkeys(("builtins.input", "os.getxattr", "os.listxattr"), MACHINE),
}  # fmt: skip
"""Events of Python's, and what none of them leaves to be looked at."""
ASKED = (
    (CLOCK, time, ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
                   "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns",
                   "localtime", "gmtime", "ctime", "asctime", "strftime")),
    (MACHINE, os, ("uname", "cpu_count", "process_cpu_count", "sched_getaffinity", "getloadavg", "times", "statvfs",
                   "getpid", "getppid", "getuid", "geteuid", "getgid", "getlogin", "get_terminal_size")),
    (MACHINE, platform, ("uname", "node", "platform", "release", "version", "processor")),
)  # fmt: skip
"""Functions without an event that answer another thing each time, or on each machine."""
READERS = ("import_ir_module", "_load_jit_module_from_file", "_load_mobile_module_from_file",
           "_load_for_lite_interpreter", "_get_model_extra_files", "_get_model_bytecode_version",
           "_get_mobile_model_contained_types", "_get_model_ops_and_info")  # fmt: skip
"""Functions of torch's that open a file by its path, without an event."""
UNSEEN = re.compile(rb"\.\s*(now|today|utcnow|from_file)\b|\b(FileStore|TCPStore|HashStore)\b")
"""Methods and classes without an event and without a function to stand before: the clock's, and those of torch that
read by themselves.
"""
LOOKS = ("stat", "lstat", "access", "readlink")
LOOK_ONLY = frozenset({"exists", "lexists", "isfile", "isdir", "islink", "is_file", "is_dir", "is_symlink", "realpath",
                       "_joinrealpath", "resolve"})  # fmt: skip
"""Functions of Python's that ask of a file no more than what it is."""
