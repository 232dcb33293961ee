"""The numbers of the system calls that the filter knows, for each machine."""

from __future__ import annotations

from typing import Final

X86_64: Final = {
    "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "bind": 49, "bpf": 321, "chmod": 90, "chown": 92,
    "chroot": 161, "clock_settime": 227, "clone": 56, "clone3": 435, "connect": 42, "delete_module": 176,
    "fanotify_init": 300, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "fchown": 93, "fchownat": 260,
    "file_setattr": 469, "finit_module": 313, "fremovexattr": 199, "fsconfig": 431, "fsetxattr": 190, "fsmount": 432,
    "fsopen": 430, "fspick": 433, "futimesat": 261, "init_module": 175, "io_uring_enter": 426,
    "io_uring_register": 427, "io_uring_setup": 425, "ioctl": 16, "ioperm": 173, "iopl": 172, "kcmp": 312,
    "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "lchown": 94, "listen": 50, "lremovexattr": 198,
    "lsetxattr": 189, "mount": 165, "mount_setattr": 442, "move_mount": 429, "open_by_handle_at": 304,
    "open_tree": 428, "open_tree_attr": 467, "perf_event_open": 298, "pidfd_getfd": 438, "pivot_root": 155,
    "prlimit64": 302, "process_madvise": 440, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101,
    "quotactl": 179, "quotactl_fd": 443, "reboot": 169, "removexattr": 197, "removexattrat": 466, "request_key": 249,
    "setdomainname": 171, "sethostname": 170, "setns": 308, "settimeofday": 164, "setxattr": 188, "setxattrat": 463,
    "socket": 41, "socketpair": 53, "swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166, "unshare": 272,
    "uselib": 134, "userfaultfd": 323, "utime": 132, "utimensat": 280, "utimes": 235, "vhangup": 153,
}  # fmt: skip

AARCH64: Final = {
    "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "bind": 200, "bpf": 280, "chroot": 51,
    "clock_settime": 112, "clone": 220, "clone3": 435, "connect": 203, "delete_module": 106, "fanotify_init": 262,
    "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54, "file_setattr": 469,
    "finit_module": 273, "fremovexattr": 16, "fsconfig": 431, "fsetxattr": 7, "fsmount": 432, "fsopen": 430,
    "fspick": 433, "init_module": 105, "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425,
    "ioctl": 29, "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "listen": 201,
    "lremovexattr": 15, "lsetxattr": 6, "mount": 40, "mount_setattr": 442, "move_mount": 429, "open_by_handle_at": 265,
    "open_tree": 428, "open_tree_attr": 467, "perf_event_open": 241, "pidfd_getfd": 438, "pivot_root": 41,
    "prlimit64": 261, "process_madvise": 440, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117,
    "quotactl": 60, "quotactl_fd": 443, "reboot": 142, "removexattr": 14, "removexattrat": 466, "request_key": 218,
    "setdomainname": 162, "sethostname": 161, "setns": 268, "settimeofday": 170, "setxattr": 5, "setxattrat": 463,
    "socket": 198, "socketpair": 199, "swapoff": 225, "swapon": 224, "syslog": 116, "umount2": 39, "unshare": 97,
    "userfaultfd": 282, "utimensat": 88, "vhangup": 58,
}  # fmt: skip

# Machine → what the kernel calls its system calls (AUDIT_ARCH_*), and their numbers.
MACHINES: Final = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}
