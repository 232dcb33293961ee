"""The guards of agents and sub-sessions: `python -m tests.support.guards` takes each out and sees who notices."""

from __future__ import annotations

import sys
from typing import Final

from tests.seeds.agents import AUTHORITY, LIFE, LOOKING, OBSERVER, SESSIONS, SPAWN
from tests.support.workshop import SERVER, Guard, tried

VALIDATE: Final = f"{SERVER}/agent/collab/validate.py"
SPAWNING: Final = f"{SERVER}/agent/collab/spawning.py"
TOOLS: Final = f"{SERVER}/agent/collab/tools.py"
SESSION: Final = f"{SERVER}/agent/collab/sessions.py"
LOOK: Final = f"{SERVER}/agent/collab/looking.py"
BRANCH: Final = f"{SERVER}/threads/branch.py"
OUTLOOK: Final = f"{SERVER}/threads/outlook.py"
OFFSPRING: Final = f"{SERVER}/threads/offspring.py"
SPEECH: Final = f"{SERVER}/threads/speech.py"
OBSERVE: Final = f"{SERVER}/threads/observer.py"
THREAD: Final = f"{SERVER}/threads/thread.py"
TURNS: Final = f"{SERVER}/threads/turns.py"
BRIEFING: Final = f"{SERVER}/threads/briefing.py"
TREE: Final = f"{SERVER}/agent/templates/policy.py"

GUARDS: Final[list[Guard]] = [
    Guard(
        "a message or items, not both",
        "1",
        VALIDATE,
        "if message is not None and items is not None:",
        "if False:",
        f"{SPAWN}::test_one_of_message_and_items_is_given",
    ),
    Guard(
        "the model is known",
        "14",
        VALIDATE,
        '    if info is None:\n        raise Refused(f"Unknown model',
        '    if info is None:\n        return spawn\n    if False:\n        raise Refused(f"Unknown model',
        f"{SPAWN}::test_an_unknown_model_is_refused_with_those_there_are",
    ),
    Guard(
        "the model has the effort",
        "15",
        VALIDATE,
        "if spawn.reasoning_effort is None or spawn.reasoning_effort in info.efforts:",
        "if True:",
        f"{SPAWN}::test_an_effort_that_the_model_does_not_have_is_refused_with_those_it_has",
    ),
    Guard(
        "no list of models, no spawn",
        "16",
        VALIDATE,
        "    if models is None:\n        raise Refused(UPDATING, retryable=True)\n",
        "    if models is None:\n        return spawn\n",
        f"{SPAWN}::test_a_model_list_that_is_not_there_means_try_again",
    ),
    Guard(
        "somebody is asked about another directory",
        "17",
        TOOLS,
        "if where is not None and not await seat.tree.may_work_in(seat.call, where):",
        "if False:",
        f"{SPAWN}::test_where_nobody_may_be_asked_it_is_refused",
    ),
    Guard(
        "the question goes to the owner",
        "18",
        BRANCH,
        "for it in (owner, me):",
        "for it in (me,):",
        f"{SPAWN}::test_the_question_of_a_sub_agent_goes_to_the_turn_of_its_owner",
    ),
    Guard(
        "an owner at rest is not asked",
        "19",
        BRANCH,
        "if it is not None and it.running is not None:",
        "if it is not None:",
        f"{SPAWN}::test_without_a_turn_of_the_owner_it_is_asked_in_its_own_thread",
    ),
    Guard(
        "where nobody may be asked",
        "20",
        BRANCH,
        'if me.state.rest.settings.approval_policy == "never":',
        "if False:",
        f"{SPAWN}::test_where_nobody_may_be_asked_it_is_refused",
    ),
    Guard(
        "the directory is there",
        "21",
        VALIDATE,
        "if not os.path.isdir(where):",
        "if False:",
        f"{SPAWN}::test_a_directory_that_is_not_there_is_an_error",
    ),
    Guard(
        "links are followed",
        "17",
        VALIDATE,
        "return None if where == os.path.realpath(cwd) else where",
        "return None if asked == cwd else where",
        f"{SPAWN}::test_where_the_parent_works_nobody_is_asked",
    ),
    Guard(
        "a note never fails a spawn",
        "24",
        SPAWNING,
        "    except Refused as refusal:\n        return None, str(refusal)\n",
        "    except Refused:\n        raise\n",
        f"{SPAWN}::test_a_note_that_cannot_be_set_is_a_warning_and_no_failure",
    ),
    Guard(
        "how many run in a tree",
        "P8",
        BRANCH,
        "if len(held) >= most.max_threads:",
        "if False:",
        f"{SPAWN}::test_limits_name_themselves_and_who_holds_them",
    ),
    Guard(
        "how deep a tree grows",
        "P8",
        BRANCH,
        "if depth >= most.max_depth:",
        "if False:",
        f"{SPAWN}::test_limits_name_themselves_and_who_holds_them",
    ),
    Guard(
        "limits hold for a resume",
        "30",
        BRANCH,
        "            self._has_room(self._manager.lineage.parent(agent_id) or agent_id)\n",
        "",
        f"{LIFE}::test_limits_hold_for_a_resume",
    ),
    Guard(
        "nobody acts outside of their subtree",
        "38",
        OUTLOOK,
        "if self._me not in above:",
        "if False:",
        f"{AUTHORITY}::test_an_agent_may_act_on_itself_and_on_what_is_below[child-close-sibling]",
    ),
    Guard(
        "nobody sees another tree",
        "34",
        OUTLOOK,
        "return self._manager.exists(agent_id) and self._manager.lineage.origin(agent_id)[-1] == self._root",
        "return self._manager.exists(agent_id)",
        f"{LIFE}::test_an_agent_of_another_tree_is_nobody",
    ),
    Guard(
        "the tools of a template",
        "P6",
        BRIEFING,
        "if thread.policy.permits(name) and name not in missing",
        "if name not in missing",
        f"{SPAWN}::test_tools_are_those_of_its_template_and_no_more_than_its_parents",
    ),
    Guard(
        "a reader stays one",
        "P7",
        BRIEFING,
        "if thread.policy.read_only:  # whatever it was set to since",
        "if False:",
        f"{SPAWN}::test_a_reader_stays_one_whatever_it_is_set_to",
    ),
    Guard(
        "a template that only reads",
        "13",
        TREE,
        "if not self.read_only or isinstance(parents, ReadOnlySandboxPolicy):",
        "if True:",
        f"{SPAWN}::test_the_sandbox_is_the_parents_unless_the_template_only_reads",
    ),
    Guard(
        "an interrupt comes first",
        "29",
        SPEECH,
        "await (agent.interrupt() if interrupt and not known() else agent.ended())",
        "await agent.ended()",
        f"{LIFE}::test_an_interrupt_ends_what_it_is_doing_first",
    ),
    Guard(
        "waits have bounds",
        "33",
        VALIDATE,
        "return WAIT_USUAL if asked is None else min(max(asked, WAIT_LEAST), WAIT_MOST)",
        "return WAIT_USUAL if asked is None else asked",
        f"{LIFE}::test_its_time_is_kept_within_bounds",
    ),
    Guard(
        "a word of the user ends a wait",
        "36",
        OUTLOOK,
        "if steering is not None and steering.waiting:",
        "if False:",
        f"{LIFE}::test_a_word_of_the_user_ends_it",
    ),
    Guard(
        "somebody is waited for",
        "32",
        VALIDATE,
        "    if not ids:\n",
        "    if False:\n",
        f"{LIFE}::test_somebody_has_to_be_named",
    ),
    Guard(
        "a blank note clears",
        "26",
        VALIDATE,
        "return kept or None",
        "return kept",
        f"{LOOKING}::test_a_note_is_set_and_cleared",
    ),
    Guard(
        "a note has a length",
        "27",
        VALIDATE,
        "if len(kept) > MAX_NOTE:",
        "if False:",
        f"{LOOKING}::test_a_note_that_is_too_long_is_an_error",
    ),
    Guard(
        "the closed are left out",
        "47",
        OUTLOOK,
        'return [it for it in found if include_closed or it.status != "shutdown"]',
        "return found",
        f"{LOOKING}::test_only_the_closed_are_left_out",
    ),
    Guard(
        "sessions are no agents",
        "43",
        OUTLOOK,
        "for it in below if _spawned(rest := self._manager.rest(it))]",
        "for it in below if (rest := self._manager.rest(it))]",
        f"{LOOKING}::test_sessions_are_no_agents",
    ),
    Guard(
        "an end is final",
        "53",
        OBSERVE,
        "final = child.state.agent_status in FINAL",
        "final = False",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    Guard(
        "the end of a session is told once",
        "S30",
        OBSERVE,
        "    if before in FINAL:\n        return None\n",
        "",
        f"{SESSIONS}::test_the_end_is_told_once",
    ),
    Guard(
        "no time, no wait",
        "S9",
        SESSION,
        "if ms <= 0:",
        "if False:",
        f"{SESSIONS}::test_no_time_means_no_wait",
    ),
    Guard(
        "a session that is known",
        "S14",
        OUTLOOK,
        'if spawned is not None and spawned.kind == "subSession":',
        "if True:",
        f"{SESSIONS}::test_an_unknown_session_is_an_error",
    ),
    Guard(
        "sessions ask nobody",
        "S19",
        OFFSPRING,
        '**({"approval_policy": "never"} if order.kind == "subSession" else {}),',
        "",
        f"{SESSIONS}::test_it_inherits_folder_and_fence_and_asks_nobody",
    ),
    Guard(
        "sessions go with an interrupted turn",
        "S22",
        TURNS,
        "await thread.ground.interrupted(thread.id)",
        "pass",
        f"{SESSIONS}::test_an_interrupted_parent_takes_its_sessions_along_and_leaves_its_agents",
    ),
    Guard(
        "agents do not go with an interrupted turn",
        "S22",
        f"{SERVER}/threads/cascade.py",
        'return running and spawned is not None and spawned.kind == "subSession"',
        "return running",
        f"{SESSIONS}::test_an_interrupted_parent_takes_its_sessions_along_and_leaves_its_agents",
    ),
]


if __name__ == "__main__":
    sys.exit(tried(GUARDS))
