"""Permissions beyond the sandbox, asked for one by one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value

FileSystemAccessMode = TypeAliasType("FileSystemAccessMode", Literal["read", "write", "deny"])


class PathFileSystemPath(Value):
    """One path."""

    type: Literal["path"] = "path"
    path: str


class GlobPatternFileSystemPath(Value):
    """All paths that fit a pattern."""

    type: Literal["glob_pattern"] = "glob_pattern"
    pattern: str


class RootFileSystemSpecialPath(Value):
    """Everything."""

    kind: Literal["root"] = "root"


class MinimalFileSystemSpecialPath(Value):
    """What programs need to run at all."""

    kind: Literal["minimal"] = "minimal"


class ProjectRootsFileSystemSpecialPath(Value):
    """The directories of the project."""

    kind: Literal["project_roots"] = "project_roots"
    subpath: str | None = None


class TmpdirFileSystemSpecialPath(Value):
    """The directory for temporary files."""

    kind: Literal["tmpdir"] = "tmpdir"


class SlashTmpFileSystemSpecialPath(Value):
    """`/tmp`."""

    kind: Literal["slash_tmp"] = "slash_tmp"


class UnknownFileSystemSpecialPath(Value):
    """A place that this version does not know."""

    kind: Literal["unknown"] = "unknown"
    subpath: str | None = None
    path: str


FileSystemSpecialPath = TypeAliasType(
    "FileSystemSpecialPath",
    Annotated[
        RootFileSystemSpecialPath
        | MinimalFileSystemSpecialPath
        | ProjectRootsFileSystemSpecialPath
        | TmpdirFileSystemSpecialPath
        | SlashTmpFileSystemSpecialPath
        | UnknownFileSystemSpecialPath,
        Field(discriminator="kind"),
    ],
)


class SpecialFileSystemPath(Value):
    """A place known by its role."""

    type: Literal["special"] = "special"
    value: FileSystemSpecialPath


FileSystemPath = TypeAliasType(
    "FileSystemPath",
    Annotated[PathFileSystemPath | GlobPatternFileSystemPath | SpecialFileSystemPath, Field(discriminator="type")],
)


class FileSystemSandboxEntry(Value):
    """A place, and what may be done there."""

    path: FileSystemPath
    access: FileSystemAccessMode


class AdditionalFileSystemPermissions(Value):
    """Files beyond the sandbox."""

    read: list[str] | None = None
    write: list[str] | None = None
    glob_scan_max_depth: Annotated[int, Field(ge=1)] | None = None
    entries: list[FileSystemSandboxEntry] | None = None


class AdditionalNetworkPermissions(Value):
    """The network beyond the sandbox."""

    enabled: bool | None = None


class AdditionalPermissionProfile(Value):
    """What a command wants beyond the sandbox."""

    network: AdditionalNetworkPermissions | None = None
    file_system: AdditionalFileSystemPermissions | None = None


NetworkApprovalProtocol = TypeAliasType("NetworkApprovalProtocol", Literal["http", "https", "socks5Tcp", "socks5Udp"])


class RequestPermissionProfile(Value):
    """What is asked for beyond the sandbox."""

    network: AdditionalNetworkPermissions | None = None
    file_system: AdditionalFileSystemPermissions | None = None
