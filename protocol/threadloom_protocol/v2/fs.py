"""Files on the machine of the server, for clients that are elsewhere."""

from __future__ import annotations

from threadloom_protocol.model import Event, Params, Result, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification, Stage


class FsReadFileParams(Params):
    """Read a file whole."""

    path: str


class FsReadFileResponse(Result):
    """Its bytes."""

    data_base64: str


class FsWriteFileParams(Params):
    """Write a file whole, making it or replacing it."""

    path: str
    data_base64: str


class FsWriteFileResponse(Result):
    """Done."""


class FsCreateDirectoryParams(Params):
    """Make a directory, and those above it unless `recursive` is false."""

    path: str
    recursive: bool | None = None


class FsCreateDirectoryResponse(Result):
    """Done."""


class FsGetMetadataParams(Params):
    """Ask what is at a path."""

    path: str


class FsGetMetadataResponse(Result):
    """What is there. A link is followed for all but `isSymlink`."""

    is_directory: bool
    is_file: bool
    is_symlink: bool
    created_at_ms: int
    modified_at_ms: int


class FsReadDirectoryParams(Params):
    """List a directory."""

    path: str


class FsReadDirectoryEntry(Value):
    """One name in a directory."""

    file_name: str
    is_directory: bool
    is_file: bool


class FsReadDirectoryResponse(Result):
    """What the directory has in it."""

    entries: list[FsReadDirectoryEntry]


class FsRemoveParams(Params):
    """Remove a file, or a directory with everything in it.

    `recursive: false` spares a directory that is not empty; `force: false` makes a missing path an error.
    """

    path: str
    recursive: bool | None = None
    force: bool | None = None


class FsRemoveResponse(Result):
    """Done."""


class FsCopyParams(Params):
    """Copy a file; a directory only with `recursive`."""

    source_path: str
    destination_path: str
    recursive: bool = False


class FsCopyResponse(Result):
    """Done."""


class FsWatchParams(Params):
    """Watch a file or a directory, under a name that the client chooses for this connection."""

    watch_id: str
    path: str


class FsWatchResponse(Result):
    """The path that is watched, as the system calls it."""

    path: str


class FsUnwatchParams(Params):
    """Stop watching."""

    watch_id: str


class FsUnwatchResponse(Result):
    """Done."""


class FsChangedNotification(Event):
    """Something changed at what is being watched."""

    watch_id: str
    changed_paths: list[str]


READ_FILE = ClientRequest("fs/readFile", FsReadFileParams, FsReadFileResponse, stage=Stage.PLANNED)
WRITE_FILE = ClientRequest("fs/writeFile", FsWriteFileParams, FsWriteFileResponse, stage=Stage.PLANNED)
CREATE_DIRECTORY = ClientRequest(
    "fs/createDirectory", FsCreateDirectoryParams, FsCreateDirectoryResponse, stage=Stage.PLANNED
)
GET_METADATA = ClientRequest("fs/getMetadata", FsGetMetadataParams, FsGetMetadataResponse, stage=Stage.PLANNED)
READ_DIRECTORY = ClientRequest("fs/readDirectory", FsReadDirectoryParams, FsReadDirectoryResponse, stage=Stage.PLANNED)
REMOVE = ClientRequest("fs/remove", FsRemoveParams, FsRemoveResponse, stage=Stage.PLANNED)
COPY = ClientRequest("fs/copy", FsCopyParams, FsCopyResponse, stage=Stage.PLANNED)
WATCH = ClientRequest("fs/watch", FsWatchParams, FsWatchResponse, stage=Stage.PLANNED)
UNWATCH = ClientRequest("fs/unwatch", FsUnwatchParams, FsUnwatchResponse, stage=Stage.PLANNED)
CHANGED = ServerNotification("fs/changed", FsChangedNotification)
