"""What was promised of reports and the queue, sentence by sentence, and the tests that hold us to it.

`F` is the flow, `G` a guard, `T` a trigger, `D` the data, `R` a race, `P` a pitfall. Where the product decided
otherwise, the sentence is in `OVERRULED` with the reason, and the test shows what holds instead.
"""

from __future__ import annotations

from typing import Final

from tests.seeds.table import Promise, said

REPORTS: Final = "tests/server/threads/test_reports.py"
QUEUE: Final = "tests/server/threads/test_queue.py"
CRASH: Final = "tests/server/test_reports_crash.py"
LEFT: Final = "tests/server/threads/test_left_behind.py"
JOURNEY: Final = "tests/journeys/test_queue.py"
SPAWN: Final = "tests/server/agent/collab/test_spawn.py"

PROMISES: Final[dict[str, Promise]] = {
    # ── flow ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    "F1": said(
        "A child's end notifies its parent by itself, with a message in the parent's queue.",
        f"{REPORTS}::test_a_child_that_has_finished_wakes_a_parent_at_rest",
        f"{JOURNEY}::test_three_agents_wake_their_parent_three_times",
    ),
    "F2": said(
        "The parent gets it at rest, never amid a turn.",
        f"{REPORTS}::test_a_parent_at_work_hears_it_next_and_not_amid_its_turn",
    ),
    "F3": said(
        "The turn ends, the template is rendered, the message is queued, the queue is processed if the parent rests.",
        f"{REPORTS}::test_at_rest_and_ready_are_one_step",
        f"{REPORTS}::test_a_child_that_has_finished_wakes_a_parent_at_rest",
    ),
    "F4": said(
        "Three children are three entries in the order of their ends, each a whole turn, one after the other.",
        f"{REPORTS}::test_three_children_are_three_turns_in_the_order_in_which_they_ended",
    ),
    "F5": said("There are no storms of callbacks.", f"{REPORTS}::test_a_storm_is_one_turn_after_the_other"),
    "F6": said(
        "A spawn sets the parent, the place of the spawn and the inherited callback configuration, and returns the id.",
        f"{REPORTS}::test_genealogy_is_on_every_thread",
        f"{REPORTS}::test_the_childs_own_copy_decides",
        f"{JOURNEY}::test_three_agents_wake_their_parent_three_times",
    ),
    "F7": said(
        "A spawn may say whether the child reports, and whether with its last message.",
        f"{JOURNEY}::test_callbacks_are_set_at_birth_and_later",
        f"{REPORTS}::test_what_is_told_can_be_less",
    ),
    # ── guards ────────────────────────────────────────────────────────────────────────────────────────────────────────
    "G1": said(
        "At rest and ready for a prompt are one atomic step.",
        f"{REPORTS}::test_at_rest_and_ready_are_one_step",
        f"{QUEUE}::test_the_pause_is_in_the_line_that_ends_the_turn",
    ),
    "G2": said(
        "Whoever processes the queue looks whether the thread still rests.",
        f"{QUEUE}::test_a_start_by_hand_goes_past_a_pause_and_never_beside_a_turn",
        f"{QUEUE}::test_prompts_run_in_order_each_in_a_turn_of_its_own",
    ),
    "G3": said("Only a thread that has a parent reports.", f"{REPORTS}::test_a_thread_that_nobody_owns_tells_nobody"),
    "G4": said(
        "`enabled: false` is respected.",
        f"{REPORTS}::test_the_childs_own_copy_decides",
        f"{JOURNEY}::test_what_a_tool_has_returned_wakes_nobody",
    ),
    "G5": said(
        "A thread's status is its own: no child sets its parent's, no parent its child's.",
        f"{REPORTS}::test_threads_change_their_own_status_only",
    ),
    # ── triggers ──────────────────────────────────────────────────────────────────────────────────────────────────────
    "T1": said(
        "A completed or failed turn is reported.",
        f"{REPORTS}::test_every_end_of_a_turn_is_reported",
    ),
    "T2": said(
        "A queued callback at a parent at rest starts the queue.",
        f"{REPORTS}::test_a_child_that_has_finished_wakes_a_parent_at_rest",
        f"{REPORTS}::test_a_sweep_finds_what_a_missed_wake_left_behind",
    ),
    "T3": said(
        "A turn that ends well starts the next entry.",
        f"{QUEUE}::test_prompts_run_in_order_each_in_a_turn_of_its_own",
        f"{QUEUE}::test_a_failed_turn_holds_it",
    ),
    # ── data ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    "D1": said(
        "A thread knows its parent.",
        f"{REPORTS}::test_genealogy_is_on_every_thread",
        f"{LEFT}::test_a_tree_says_where_each_of_its_threads_comes_from",
    ),
    "D2": said(
        "A thread knows where in its parent it was born.",
        f"{REPORTS}::test_genealogy_is_on_every_thread",
        f"{LEFT}::test_a_tree_says_where_each_of_its_threads_comes_from",
    ),
    "D3": said(
        "A thread knows what it was spawned with.",
        f"{REPORTS}::test_genealogy_is_on_every_thread",
        f"{LEFT}::test_a_tree_says_where_each_of_its_threads_comes_from",
    ),
    "D4": said(
        "callback_config: enabled, include_last_message, include_original_prompt, template.",
        f"{REPORTS}::test_what_is_told_can_be_less",
        f"{REPORTS}::test_the_built_in_report_says_who_how_and_where_there_is_more",
        f"{REPORTS}::test_a_template_of_its_own_sees_all_that_is_known",
    ),
    "D5": said(
        "Templates are Handlebars, with `eq` and the like.",
        f"{REPORTS}::test_a_template_of_its_own_sees_all_that_is_known",
        f"{REPORTS}::test_templates_are_not_escaped_and_cannot_reach_further",
    ),
    "D6": said(
        "The default says which child, how it ended, what it was asked, its counts, its result and where more is.",
        f"{REPORTS}::test_the_built_in_report_says_who_how_and_where_there_is_more",
        f"{REPORTS}::test_a_failure_says_what_it_died_of",
    ),
    "D7": said(
        "A template sees the ids short and whole, the prompt, the status, the time, the counts and the last message.",
        f"{REPORTS}::test_a_template_of_its_own_sees_all_that_is_known",
        f"{REPORTS}::test_counts_are_of_that_turn",
    ),
    "D8": said(
        "The status is in lower case, and the prompt is there only if asked for.",
        f"{REPORTS}::test_a_template_of_its_own_sees_all_that_is_known",
        f"{REPORTS}::test_what_is_told_can_be_less",
    ),
    "D9": said(
        "The message says that it is a callback, and of which child and which turn.",
        f"{REPORTS}::test_a_child_that_has_finished_wakes_a_parent_at_rest",
        f"{REPORTS}::test_what_a_child_says_stays_quoted",
    ),
    # ── races ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    "R1": said(
        "Between the end of a turn and rest nothing is lost.",
        f"{CRASH}::test_a_fault_at_any_write_loses_no_report_and_doubles_none",
    ),
    "R2": said(
        "Several children that end at once are processed one after the other.",
        f"{REPORTS}::test_a_storm_is_one_turn_after_the_other",
        f"{REPORTS}::test_a_storm_that_is_gathered_is_few_turns_and_failures_come_first",
        f"{REPORTS}::test_an_outage_amid_a_storm_pauses_it_and_resume_completes_it",
    ),
    "R3": said(
        "A client that is gone between the steps changes nothing.",
        f"{JOURNEY}::test_a_client_that_is_gone_between_the_steps_changes_nothing",
        f"{JOURNEY}::test_a_killed_server_goes_on_with_what_waited",
    ),
    # ── pitfalls ──────────────────────────────────────────────────────────────────────────────────────────────────────
    "P1": said(
        "Nobody but the thread's own actor changes its status.",
        f"{REPORTS}::test_threads_change_their_own_status_only",
    ),
    "P2": said(
        "A child's status is not assumed to be current when its callback is queued.",
        f"{REPORTS}::test_at_rest_and_ready_are_one_step",
        f"{CRASH}::test_after_any_kill_nobody_claims_to_run_and_all_that_waited_is_there_once",
    ),
    "P3": said(
        "What belongs together is written together.",
        f"{REPORTS}::test_at_rest_and_ready_are_one_step",
        f"{CRASH}::test_a_fault_at_any_write_loses_no_report_and_doubles_none",
    ),
    "P4": said(
        "A callback that fails does not break the child.",
        f"{REPORTS}::test_a_report_that_cannot_be_made_breaks_nothing_and_is_tried_again",
        f"{REPORTS}::test_a_template_that_fails_gives_way_and_says_so",
    ),
}

# What the origin says, why it does not hold, and the test of what does.
OVERRULED: Final[dict[str, tuple[str, str, str]]] = {
    "O1": (
        "Children are a list on the parent.",
        "They are derived from the edges that are stored with the children: a list could disagree with them.",
        f"{REPORTS}::test_genealogy_is_on_every_thread",
    ),
    "O2": (
        "Callbacks are system messages.",
        "They are user messages with a mark, so that any client shows them; the model reads quoted data of a child.",
        f"{REPORTS}::test_a_child_that_has_finished_wakes_a_parent_at_rest",
    ),
    "O3": (
        "Only completed and failed turns call back.",
        "Also interrupted, cancelled and lost ones: a parent that is not told waits for ever.",
        f"{REPORTS}::test_every_end_of_a_turn_is_reported",
    ),
    "O4": (
        "The parent's configuration decides whether a child calls back.",
        "The child's own copy does, inherited when it is born: so children of one parent may differ.",
        f"{REPORTS}::test_the_childs_own_copy_decides",
    ),
    "O5": (
        "Nothing is queued to a parent that runs.",
        "Always queued, always triggered; the claim decides. To look first and queue then loses callbacks.",
        f"{REPORTS}::test_a_parent_at_work_hears_it_next_and_not_amid_its_turn",
    ),
    "O6": (
        "Children inherit their parent's permissions.",
        "They have a part of them, never more.",
        f"{SPAWN}::test_tools_are_those_of_its_template_and_no_more_than_its_parents",
    ),
    "O7": (
        "The hint at details names the origin's own tool.",
        "It names `read_agent`.",
        f"{REPORTS}::test_the_built_in_report_says_who_how_and_where_there_is_more",
    ),
}
