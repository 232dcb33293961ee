"""What was promised of saved sessions, sentence by sentence, and the tests that hold us to it.

`B` is the behaviour, `E` an edge. Where the product decided otherwise, the sentence is in `OVERRULED` with the reason,
and the test shows what holds instead.
"""

from __future__ import annotations

from typing import Final

from tests.seeds.table import Promise, said

SESSIONS: Final = "tests/server/threads/test_sessions.py"
CONTEXT: Final = "tests/server/threads/test_context.py"
ROLLOUT: Final = "tests/server/store/test_rollout.py"
JOURNEY: Final = "tests/journeys/test_sessions.py"
CHAT: Final = "tests/server/cli/test_chat.py"
TABLE: Final = "tests/server/cli/test_table.py"

PROMISES: Final[dict[str, Promise]] = {
    # ── behaviour ─────────────────────────────────────────────────────────────────────────────────────────────────────
    "B1": said(
        "A save takes the conversation as it is now, as if it were interrupted here and taken up again later.",
        f"{SESSIONS}::test_the_next_request_of_a_fork_is_the_one_that_the_saved_thread_would_have_sent",
        f"{SESSIONS}::test_saved_in_mid_turn_is_as_if_interrupted_there",
        f"{SESSIONS}::test_a_tool_that_is_open_when_a_thread_is_saved_reads_aborted",
        f"{JOURNEY}::test_saved_in_mid_turn_is_as_if_interrupted_there",
    ),
    "B2": said(
        "A name that exists is overwritten and points at the new snapshot; the list shows the latest of a name alone.",
        f"{JOURNEY}::test_saving_again_overwrites_and_the_conversation_goes_on",
        f"{JOURNEY}::test_only_saved_sessions_are_listed_the_latest_first_page_by_page",
    ),
    "B3": said(
        "The command is a local one, never sent to the model; it asks the server to save a thread under a name.",
        f"{CHAT}::test_save_fork_note_and_back_again",
        f"{JOURNEY}::test_explore_once_save_and_fork_many_times",
    ),
    "B4": said(
        "What came before is on the disk first; the name is recorded with the session itself, in no file of its own.",
        f"{SESSIONS}::test_a_name_is_on_the_disk_before_anybody_hears_of_it",
        f"{SESSIONS}::test_the_latest_save_of_a_name_counts_whatever_the_clock_says",
    ),
    "B5": said(
        "The conversation goes on as normal after a save.",
        f"{JOURNEY}::test_saving_again_overwrites_and_the_conversation_goes_on",
        f"{SESSIONS}::test_a_name_brings_back_what_was_saved_whatever_came_after",
    ),
    "B6": said(
        "Resume takes a saved name or an id: the name first.",
        f"{JOURNEY}::test_resume_opens_the_thread_itself_and_says_how_far_it_has_moved",
        f"{SESSIONS}::test_a_name_goes_before_an_id_and_an_id_before_a_beginning",
        f"{CHAT}::test_save_fork_note_and_back_again",
        f"{TABLE}::test_in_a_pipe_it_is_plain_lines",
    ),
    "B7": said(
        "A fork is a new session with an id of its own and the history of its source: of a saved name or of an id.",
        f"{JOURNEY}::test_explore_once_save_and_fork_many_times",
        f"{SESSIONS}::test_a_name_brings_back_what_was_saved_whatever_came_after",
        f"{CONTEXT}::test_a_fork_of_a_fork_has_what_came_behind_its_last_turn",
        f"{CHAT}::test_save_fork_note_and_back_again",
        f"{TABLE}::test_in_a_pipe_it_is_plain_lines",
    ),
    "B8": said(
        "What is neither a name nor an id is told in a way that helps.",
        f"{SESSIONS}::test_what_is_unknown_or_may_be_several_is_told_with_what_is_near",
        f"{JOURNEY}::test_what_is_unknown_is_told_with_what_is_near",
    ),
    "B9": said(
        "A name can be forked many times.",
        f"{JOURNEY}::test_explore_once_save_and_fork_many_times",
    ),
    "B10": said(
        "The list has the saved sessions alone: name, id, times, directory, model and path, one per line.",
        f"{JOURNEY}::test_explore_once_save_and_fork_many_times",
        f"{JOURNEY}::test_only_saved_sessions_are_listed_the_latest_first_page_by_page",
        f"{TABLE}::test_in_a_pipe_it_is_plain_lines",
    ),
    "B11": said(
        "The server's view of a thread shows its saved names.",
        f"{JOURNEY}::test_explore_once_save_and_fork_many_times",
        f"{SESSIONS}::test_a_title_is_given_only_where_there_is_none",
    ),
    # ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    "E1": said(
        "A name that looks like an id is a name first.",
        f"{SESSIONS}::test_a_name_goes_before_an_id_and_an_id_before_a_beginning",
    ),
    "E2": said(
        "Of several sessions with one name the most recent counts.",
        f"{SESSIONS}::test_the_latest_save_of_a_name_counts_whatever_the_clock_says",
        f"{SESSIONS}::test_an_older_name_stays_forgotten_where_its_log_could_not_be_told",
    ),
    "E3": said(
        "A saved session can be deleted by its name.",
        f"{JOURNEY}::test_a_saved_name_outlives_its_thread",
        f"{SESSIONS}::test_a_name_that_is_forgotten_does_not_come_back",
        f"{TABLE}::test_in_a_pipe_it_is_plain_lines",
    ),
    "E4": said(
        "Not every text is a name: 1 to 100 characters, no control characters, no `-` in front.",
        f"{SESSIONS}::test_what_is_no_name_is_refused",
        f"{SESSIONS}::test_any_other_name_is_one",
    ),
    "E5": said(
        "A saved name outlives its thread, until it is forgotten, taken over or purged.",
        f"{SESSIONS}::test_a_deleted_thread_is_kept_for_its_name_and_goes_with_it",
        f"{SESSIONS}::test_a_name_that_is_taken_over_lets_a_deleted_thread_go",
        f"{SESSIONS}::test_a_purge_takes_it_from_names_and_forks_and_the_forks_go_on_without",
        f"{JOURNEY}::test_a_purge_leaves_nothing",
        f"{ROLLOUT}::test_a_long_value_goes_with_the_last_log_that_needs_it",
        f"{ROLLOUT}::test_a_long_value_is_not_dropped_while_somebody_finds_that_it_is_there",
    ),
    "E6": said(
        "What ends with the process cannot be saved.",
        f"{SESSIONS}::test_ephemeral_and_archived_threads_cannot_be_saved",
    ),
}

OVERRULED: Final[dict[str, tuple[str, str, str]]] = {
    "O1": (
        "The snapshot moves along with later turns of its thread.",
        "It is frozen at a point of the log, and what the model had seen there is checked when it is forked.",
        f"{SESSIONS}::test_a_name_brings_back_what_was_saved_whatever_came_after",
    ),
    "O2": (
        "Resuming a name goes on from the snapshot.",
        "It opens the thread itself and says how far it has moved; a fork goes on from the snapshot.",
        f"{JOURNEY}::test_resume_opens_the_thread_itself_and_says_how_far_it_has_moved",
    ),
    "O3": (
        "Names are entries of a file of their own.",
        "They are records in the log of their thread, and come back from there where the index is lost.",
        f"{SESSIONS}::test_the_latest_save_of_a_name_counts_whatever_the_clock_says",
    ),
}
