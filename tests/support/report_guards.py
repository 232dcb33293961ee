"""The guards of reports and the queue: `python -m tests.support.report_guards` takes each out and sees who notices."""

from __future__ import annotations

import sys
from typing import Final

from tests.seeds.reports import JOURNEY, LEFT, QUEUE, REPORTS
from tests.support.guards import THREAD
from tests.support.workshop import SERVER, Guard, tried

MARKS: Final = f"{SERVER}/threads/marks.py"
STEPS: Final = f"{SERVER}/threads/steps.py"
QUEUED: Final = f"{SERVER}/threads/queue.py"
REPORT: Final = f"{SERVER}/threads/reports.py"
CASCADE: Final = f"{SERVER}/threads/cascade.py"
UPKEEP: Final = f"{SERVER}/threads/upkeep.py"
TOOLS: Final = f"{SERVER}/agent/collab/tools.py"
TEXT: Final = f"{SERVER}/threads/report_text.py"

GUARDS: Final[list[Guard]] = [
    Guard(
        "what is known is not queued again",
        "R1",
        MARKS,
        'if not state.rest.knows(mark["entry"]["id"]):',
        "if True:",
        f"{QUEUE}::test_taking_lines_in_once_more_changes_nothing",
    ),
    Guard(
        "a report is handed over once",
        "F1",
        QUEUED,
        "if not self._thread.state.rest.knows(entry.id):",
        "if True:",
        f"{QUEUE}::test_a_report_can_be_moved_and_taken_out_but_not_edited",
    ),
    Guard(
        "a turn begins at rest only",
        "F2",
        THREAD,
        "return not busy and not self.stopping",
        "return not self.stopping",
        f"{REPORTS}::test_a_parent_at_work_hears_it_next_and_not_amid_its_turn",
    ),
    Guard(
        "the claim names what it takes",
        "G1",
        THREAD,
        'taken=[{"@": "consumes", "ids": [it.id for it in due], "claim": True}],',
        "taken=[],",
        f"{REPORTS}::test_at_rest_and_ready_are_one_step",
    ),
    Guard(
        "never two turns at once",
        "G2",
        THREAD,
        '        if not self.at_rest:\n            raise InvalidRequest("thread already',
        '        if False:\n            raise InvalidRequest("thread already',
        f"{QUEUE}::test_a_start_by_hand_goes_past_a_pause_and_never_beside_a_turn",
    ),
    Guard(
        "only who has an owner reports",
        "G3",
        REPORT,
        "return child.header.owner is not None and config is not None and config.enabled",
        "return config is not None and config.enabled",
        f"{REPORTS}::test_a_thread_that_nobody_owns_tells_nobody",
    ),
    Guard(
        "who is not to report does not",
        "G4",
        REPORT,
        "config is not None and config.enabled",
        "config is not None",
        f"{REPORTS}::test_the_childs_own_copy_decides",
    ),
    Guard(
        "a cascade reports once",
        "F5",
        REPORT,
        "if opened is None or (child.taken_down and put_away is None) or not reports(child):",
        "if opened is None or not reports(child):",
        f"{REPORTS}::test_a_close_reports_once_for_all_that_it_took",
    ),
    Guard(
        "what a wait has returned is consumed",
        "G4",
        TOOLS,
        "return act.done(answer, came.standings, seat.tree.told(came.standings))",
        "return act.done(answer, came.standings)",
        f"{JOURNEY}::test_what_a_tool_has_returned_wakes_nobody",
    ),
    Guard(
        "on the disk before the child forgets",
        "P3",
        REPORT,
        "            await parent.sync()\n",
        "",
        f"{REPORTS}::test_the_child_forgets_a_report_only_when_the_parent_has_it_on_the_disk",
    ),
    Guard(
        "whatever is wrong with a report, its child goes on",
        "P4",
        REPORT,
        "except Exception as fault:  # a boundary",
        "except KeyError as fault:  # a boundary",
        f"{REPORTS}::test_a_report_that_cannot_be_made_breaks_nothing_and_is_tried_again",
    ),
    Guard(
        "a broken template gives way",
        "P4",
        TEXT,
        "except Exception as error:  # the boundary",
        "except KeyError as error:  # the boundary",
        f"{REPORTS}::test_a_template_that_fails_gives_way_and_says_so",
    ),
    Guard(
        "a long result is cut",
        "D6",
        TEXT,
        "if len(data) <= LONGEST:",
        "if True:",
        f"{REPORTS}::test_a_long_result_is_cut_at_a_character_and_says_where_the_rest_is",
    ),
    Guard(
        "a child cannot end the quote",
        "D9",
        TEXT,
        'text.replace("</agent_report", "< /agent_report")',
        "text",
        f"{REPORTS}::test_what_a_child_says_stays_quoted",
    ),
    Guard(
        "a failure holds the queue",
        "T3",
        QUEUED,
        '(status == "failed" or (status == "interrupted" and by_user))',
        '(status == "interrupted" and by_user)',
        f"{REPORTS}::test_an_outage_pauses_the_queue_and_resume_completes_it",
    ),
    Guard(
        "nothing starts while it is paused",
        "T2",
        QUEUED,
        "return bool(self.entries) and self._thread.state.rest.queue_paused is None and self._thread.at_rest",
        "return bool(self.entries) and self._thread.at_rest",
        f"{QUEUE}::test_nothing_starts_while_it_is_paused",
    ),
    Guard(
        "a sweep wakes",
        "T2",
        UPKEEP,
        "            it.queue.pump()\n        late =",
        "            pass\n        late =",
        f"{REPORTS}::test_a_sweep_finds_what_a_missed_wake_left_behind",
    ),
    Guard(
        "in the order of ending",
        "F4",
        MARKS,
        "state.rest.line_up([*state.rest.queue, Queued.model_validate",
        "state.rest.line_up([*state.rest.queue[::-1], Queued.model_validate",
        f"{REPORTS}::test_a_storm_is_one_turn_after_the_other",
    ),
    Guard(
        "who interrupts everything is not woken",
        "T3",
        CASCADE,
        "            self._manager.get(owner).queue.hold()\n",
        "            pass\n",
        f"{REPORTS}::test_who_interrupts_everything_is_not_woken_by_what_that_reports",
    ),
    Guard(
        "what was taken and not told comes back",
        "R1",
        STEPS,
        "    state.rest.give_back()\n",
        "",
        f"{QUEUE}::test_what_a_torn_claim_has_taken_comes_first_again",
    ),
    Guard(
        "what ended later waits for what the disk refused",
        "R2",
        REPORT,
        "if to is not None and to in behind:",
        "if False:",
        f"{REPORTS}::test_what_ended_later_does_not_overtake_a_report_that_the_disk_refused",
    ),
    Guard(
        "a sweep goes on with what is due in a tree of ours",
        "T2",
        UPKEEP,
        "            self._take_up(manager.store(root).index.due(root))\n",
        "            pass\n",
        f"{LEFT}::test_a_sweep_takes_up_what_is_due_in_a_tree_that_is_ours",
    ),
    Guard(
        "no thread that has work leaves memory",
        "T2",
        UPKEEP,
        "            and not unfinished(thread.header, thread.state.rest)\n",
        "",
        f"{LEFT}::test_a_thread_that_has_work_stays_in_memory",
    ),
]


if __name__ == "__main__":
    sys.exit(tried(GUARDS))
