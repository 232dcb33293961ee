"""The guards of saved sessions: `python -m tests.support.session_guards` takes each out and sees who notices."""

from __future__ import annotations

import sys
from typing import Final

from tests.seeds.sessions import CONTEXT, ROLLOUT, SESSIONS
from tests.support.workshop import SERVER, Guard, tried

SESSION: Final = f"{SERVER}/threads/sessions.py"
FROZEN: Final = f"{SERVER}/threads/frozen.py"
FORKS: Final = f"{SERVER}/threads/forks.py"
BLOBS: Final = f"{SERVER}/store/blobs.py"
SAVED: Final = f"{SERVER}/store/saved.py"
SCHEMA: Final = f"{SERVER}/store/schema.py"
HISTORY: Final = f"{SERVER}/store/history.py"

GUARDS: Final[list[Guard]] = [
    Guard(
        "the history is checked",
        "B1",
        FROZEN,
        "if digest([*seen, *_items(it.model for it in frozen.ends)]) != found[0]",
        "if False and found[0]",
        f"{SESSIONS}::test_a_history_that_is_not_what_was_saved_is_refused",
    ),
    Guard(
        "an open turn ends where it was saved",
        "B1",
        FROZEN,
        "ends = forks.frozen(thread, at, thread.id) if opened is not None else []",
        "ends = []  # type: ignore",
        f"{SESSIONS}::test_saved_in_mid_turn_is_as_if_interrupted_there",
    ),
    Guard(
        "the history ends where it was saved",
        "B5",
        FROZEN,
        "base = Base(saved.thread_id, line.seq, line.offset + line.size)",
        "base = Base(saved.thread_id, 2**40, 2**40)",
        f"{SESSIONS}::test_the_next_request_of_a_fork_is_the_one_that_the_saved_thread_would_have_sent",
    ),
    Guard(
        "on the disk before it is shown",
        "B4",
        SESSION,
        "        try:\n            await thread.sync()\n",
        "        try:\n",
        f"{SESSIONS}::test_a_name_is_on_the_disk_before_anybody_hears_of_it",
    ),
    Guard(
        "on the disk before it is recorded",
        "B4",
        SESSION,
        "        await thread.ended()\n        await thread.sync()\n",
        "        await thread.ended()\n",
        f"{SESSIONS}::test_a_name_is_on_the_disk_before_anybody_hears_of_it",
    ),
    Guard(
        "a clock that is set back",
        "E2",
        SESSION,
        "at = max([self._manager.clock(), *(it.at + 1 for it in self._names.all(name))])",
        "at = self._manager.clock()",
        f"{SESSIONS}::test_the_latest_save_of_a_name_counts_whatever_the_clock_says",
    ),
    Guard(
        "the latest counts",
        "E2",
        SAVED,
        '"AND (o.at, o.thread_id) > (s.at, s.thread_id))"',
        '"AND 0)"',
        f"{SESSIONS}::test_an_older_name_stays_forgotten_where_its_log_could_not_be_told",
    ),
    Guard(
        "a thread that has lost its name says so",
        "B2",
        SESSION,
        "if (it.at, it.thread_id) < (at, thread_id) and not it.deleted:",
        "if False:",
        f"{SESSIONS}::test_the_latest_save_of_a_name_counts_whatever_the_clock_says",
    ),
    Guard(
        "a name goes before an id",
        "E1",
        SESSION,
        "saved = None if by_id else self._names.get(text)",
        "saved = None if by_id or self._manager.exists(text) else self._names.get(text)",
        f"{SESSIONS}::test_a_name_goes_before_an_id_and_an_id_before_a_beginning",
    ),
    Guard(
        "a beginning of an id is long enough",
        "B8",
        SESSION,
        "if len(lower) >= MIN_PREFIX else []",
        "if True else []",
        f"{SESSIONS}::test_what_is_unknown_or_may_be_several_is_told_with_what_is_near",
    ),
    Guard(
        "a title stays",
        "B11",
        SESSION,
        "named = [] if known.name else [say.named(thread.id, name)]",
        "named = [say.named(thread.id, name)]",
        f"{SESSIONS}::test_a_title_is_given_only_where_there_is_none",
    ),
    Guard(
        "no control characters",
        "E4",
        SESSION,
        'if any(unicodedata.category(it) in ("Cc", "Zl", "Zp", "Cs") for it in name):',
        "if False:",
        f"{SESSIONS}::test_what_is_no_name_is_refused",
    ),
    Guard(
        "no option for a name",
        "E4",
        SESSION,
        'if name.startswith("-"):',
        "if False:",
        f"{SESSIONS}::test_what_is_no_name_is_refused",
    ),
    Guard(
        "a name keeps a deleted thread",
        "E5",
        SCHEMA,
        "return forked is not None or saved.needed(db, thread_id)",
        "return forked is not None",
        f"{SESSIONS}::test_a_deleted_thread_is_kept_for_its_name_and_goes_with_it",
    ),
    Guard(
        "what was kept goes with its name",
        "E5",
        SESSION,
        "            self._manager.durable.sweep(saved.thread_id)\n",
        "",
        f"{SESSIONS}::test_a_name_that_is_taken_over_lets_a_deleted_thread_go",
    ),
    Guard(
        "a fork goes on without what was purged",
        "E5",
        HISTORY,
        "        except StoreError as fault:  # it was purged: the fork has what came after\n",
        "        except ZeroDivisionError as fault:\n",
        f"{SESSIONS}::test_a_purge_takes_it_from_names_and_forks_and_the_forks_go_on_without",
    ),
    Guard(
        "a long value is not dropped while somebody finds it",
        "E5",
        BLOBS,
        "            fcntl.flock(descriptor, how)\n",
        "",
        f"{ROLLOUT}::test_a_long_value_is_not_dropped_while_somebody_finds_that_it_is_there",
    ),
    Guard(
        "a fork up to a turn ends there",
        "B7",
        FORKS,
        "return Base(row.thread_id, ended.seq, ended.offset + ended.size)",
        "return Base(source.id, source.seq, source.end)",
        f"{CONTEXT}::test_a_fork_of_a_fork_has_what_came_behind_its_last_turn",
    ),
    Guard(
        "nothing that ends with the process",
        "E6",
        SESSION,
        "        if self._manager.ephemeral(thread_id):\n",
        "        if False:\n",
        f"{SESSIONS}::test_ephemeral_and_archived_threads_cannot_be_saved",
    ),
]


if __name__ == "__main__":
    sys.exit(tried(GUARDS))
