"""What was promised of agents and sub-sessions, sentence by sentence, and the tests that hold us to it.

`P` is about the whole, numbers are the contract of the tools for agents, `S` that of sub-sessions. Where the product
decided otherwise, the sentence says what holds, and `OVERRULED` has the one that does not, with the reason.
"""

from __future__ import annotations

from typing import Final

from tests.seeds.table import Promise, said

COLLAB: Final = "tests/server/agent/collab"
TEMPLATES: Final = "tests/server/agent/test_templates"
SPAWN: Final = f"{COLLAB}/test_spawn.py"
LIFE: Final = f"{COLLAB}/test_life.py"
LOOKING: Final = f"{COLLAB}/test_looking.py"
SESSIONS: Final = f"{COLLAB}/test_sessions.py"
OBSERVER: Final = f"{COLLAB}/test_observer.py"
AUTHORITY: Final = f"{COLLAB}/test_authority.py"
RESOLVE: Final = f"{TEMPLATES}_resolve.py"
POLICY: Final = f"{TEMPLATES}_policy.py"
CATALOG: Final = f"{TEMPLATES}_catalog.py"
THREADS: Final = "tests/journeys/test_threads.py"
AGENTS: Final = "tests/journeys/test_agents.py"
REVIEWS: Final = "tests/journeys/test_reviews.py"
PARTS: Final = "tests/server/cli/test_parts.py"
BELL: Final = "tests/server/cli/test_chat.py::test_a_bell_rings_for_an_agent_that_ended_unless_one_looks"


PROMISES: Final[dict[str, Promise]] = {
    # ── the whole ─────────────────────────────────────────────────────────────────────────────────────────────────────
    "P1": said("spawn_agent has all its options.", f"{SPAWN}::test_it_takes_what_it_says"),
    "P2": said(
        "list_agents, list_active_agents and set_thread_note are among the tools for agents.",
        f"{LOOKING}::test_list_agents_takes_a_filter_and_expanded",
        f"{LOOKING}::test_list_active_agents_takes_scope_and_flags",
        f"{LOOKING}::test_a_note_is_set_and_cleared",
    ),
    "P3": said(
        "A change of a note is an event, and every Thread object has the note.",
        f"{LOOKING}::test_a_note_is_set_and_cleared",
        f"{AGENTS}::test_a_client_spawns_and_addresses_agents",
    ),
    "P4": said(
        "Clients set notes with thread/note/set and hear thread/note/updated.",
        f"{THREADS}::test_a_note_is_trimmed_bounded_and_cleared",
    ),
    "P5": said(
        "A sub-agent closes nothing outside its subtree.",
        f"{AUTHORITY}::test_an_agent_may_act_on_itself_and_on_what_is_below",
    ),
    "P6": said(
        "The lists of a template limit the tools of its agents.",
        f"{SPAWN}::test_tools_are_those_of_its_template_and_no_more_than_its_parents",
    ),
    "P7": said(
        "A template that only reads puts its agents into the read-only sandbox.",
        f"{SPAWN}::test_the_sandbox_is_the_parents_unless_the_template_only_reads",
        f"{SPAWN}::test_a_reader_stays_one_whatever_it_is_set_to",
    ),
    "P8": said(
        "12 agents run in a tree at most, 2 deep, unless configured; a refusal names the limit and its holders.",
        f"{SPAWN}::test_limits_name_themselves_and_who_holds_them",
        f"{AGENTS}::test_limits_are_configured",
    ),
    # ── spawn_agent ───────────────────────────────────────────────────────────────────────────────────────────────────
    "1": said(
        "It takes a message or items, not both.",
        f"{SPAWN}::test_one_of_message_and_items_is_given",
        f"{SPAWN}::test_a_message_is_the_first_input",
        f"{SPAWN}::test_items_are_the_first_input",
    ),
    "2": said(
        "agent_type chooses a template; an unknown one is told with those there are.",
        f"{SPAWN}::test_a_type_and_a_name_choose_who_it_is",
        f"{SPAWN}::test_who_is_not_there_is_told_with_who_is",
    ),
    "3": said(
        "agent_name chooses a persona of it; an unknown one is told with those there are.",
        f"{SPAWN}::test_a_type_and_a_name_choose_who_it_is",
        f"{SPAWN}::test_who_is_not_there_is_told_with_who_is",
    ),
    "4": said("working_directory is where it works.", f"{SPAWN}::test_another_directory_needs_an_approval"),
    "5": said(
        "model overrides.",
        f"{RESOLVE}::test_the_first_that_says_something_wins",
        f"{SPAWN}::test_a_model_list_that_is_not_there_means_try_again",
    ),
    "6": said("reasoning_effort overrides.", f"{SPAWN}::test_call_persona_template_parent_in_this_order"),
    "7": said("thread_note is its note.", f"{SPAWN}::test_it_has_the_note_it_is_given_or_one_that_says_what_it_is"),
    "8": said("The call's word comes first.", f"{SPAWN}::test_call_persona_template_parent_in_this_order"),
    "9": said("Then the persona's.", f"{SPAWN}::test_call_persona_template_parent_in_this_order"),
    "10": said("Then the template's.", f"{SPAWN}::test_call_persona_template_parent_in_this_order"),
    "11": said("Then that of the parent's turn.", f"{SPAWN}::test_call_persona_template_parent_in_this_order"),
    "12": said(
        "The sandbox is that of the parent's turn.",
        f"{SPAWN}::test_the_sandbox_is_the_parents_unless_the_template_only_reads",
    ),
    "13": said(
        "A template that only reads forces the read-only one.",
        f"{SPAWN}::test_the_sandbox_is_the_parents_unless_the_template_only_reads",
    ),
    "14": said(
        "An unknown model is refused before anything is made, with those there are.",
        f"{SPAWN}::test_an_unknown_model_is_refused_with_those_there_are",
    ),
    "15": said(
        "An effort that the model does not have is refused before anything is made, with those it has.",
        f"{SPAWN}::test_an_effort_that_the_model_does_not_have_is_refused_with_those_it_has",
    ),
    "16": said(
        "While the models cannot be listed, the call may be tried again, and the text says so.",
        f"{SPAWN}::test_a_model_list_that_is_not_there_means_try_again",
    ),
    "17": said(
        "A directory other than the parent's, links followed, needs the user's approval before the spawn.",
        f"{SPAWN}::test_another_directory_needs_an_approval",
        f"{SPAWN}::test_a_question_is_not_put_where_the_agent_could_not_be_born",
    ),
    "18": said(
        "A sub-agent's question goes to the turn of its owner, and to whoever follows the root.",
        f"{SPAWN}::test_the_question_of_a_sub_agent_goes_to_the_turn_of_its_owner",
        f"{SPAWN}::test_it_reaches_those_who_follow_the_root_from_any_depth",
        f"{AGENTS}::test_an_approval_of_a_deep_agent_comes_to_whoever_follows_the_root",
    ),
    "19": said(
        "Where the owner has no turn, it is asked in the caller's own thread.",
        f"{SPAWN}::test_without_a_turn_of_the_owner_it_is_asked_in_its_own_thread",
    ),
    "20": said(
        "Whoever is denied is not started: no thread, no file.",
        f"{SPAWN}::test_without_approval_there_is_no_thread_and_no_file",
        f"{SPAWN}::test_where_nobody_may_be_asked_it_is_refused",
    ),
    "21": said(
        "No directory, or the parent's own, needs no approval; one that is not there is an error.",
        f"{SPAWN}::test_where_the_parent_works_nobody_is_asked",
        f"{SPAWN}::test_a_directory_that_is_not_there_is_an_error",
    ),
    "22": said(
        "A given note is trimmed and pinned to the child.",
        f"{SPAWN}::test_it_has_the_note_it_is_given_or_one_that_says_what_it_is",
    ),
    "23": said(
        "Without one it gets a note that says what it is, as far as that is known.",
        f"{SPAWN}::test_it_has_the_note_it_is_given_or_one_that_says_what_it_is",
    ),
    "24": said(
        "A note that cannot be set is a warning and no failure.",
        f"{SPAWN}::test_a_note_that_cannot_be_set_is_a_warning_and_no_failure",
    ),
    # ── set_thread_note, send_input ───────────────────────────────────────────────────────────────────────────────────
    "25": said("set_thread_note takes id and note.", f"{LOOKING}::test_a_note_is_set_and_cleared"),
    "26": said("A blank note clears.", f"{LOOKING}::test_a_note_is_set_and_cleared"),
    "27": said(
        "It returns submission_id and the note as kept; too long a note is an error.",
        f"{LOOKING}::test_a_note_is_set_and_cleared",
        f"{LOOKING}::test_a_note_that_is_too_long_is_an_error",
    ),
    "28": said(
        "send_input takes a message or items; they are in the child's log before it answers.",
        f"{LIFE}::test_what_is_sent_is_in_the_agents_log_before_the_answer",
        f"{LIFE}::test_it_begins_a_turn_where_the_agent_is_at_rest_and_joins_one_where_it_is_not",
        f"{LIFE}::test_something_has_to_be_sent",
    ),
    "29": said(
        "With interrupt, the running turn ends first.",
        f"{LIFE}::test_an_interrupt_ends_what_it_is_doing_first",
    ),
    # ── resume_agent, wait, close_agent ───────────────────────────────────────────────────────────────────────────────
    "30": said(
        "resume_agent takes a closed agent up, with what its close took, as far as the limits let it.",
        f"{LIFE}::test_a_closed_agent_is_taken_up_with_what_its_close_took",
        f"{LIFE}::test_a_resume_may_not_go_deeper_than_the_limit",
        f"{LIFE}::test_limits_hold_for_a_resume",
    ),
    "31": said("Nothing happens to an open one.", f"{LIFE}::test_nothing_happens_to_one_that_is_open"),
    "32": said(
        "wait takes ids, at least one, and a time.",
        f"{LIFE}::test_wait_takes_what_it_says",
        f"{LIFE}::test_somebody_has_to_be_named",
    ),
    "33": said("The time is kept within its bounds.", f"{LIFE}::test_its_time_is_kept_within_bounds"),
    "34": said(
        "It returns statuses by id, and whether time ran out.",
        f"{LIFE}::test_the_first_at_rest_is_always_in_it",
        f"{LIFE}::test_every_way_to_be_at_rest",
    ),
    "35": said(
        "The first that is at rest is always in it, and others may be.",
        f"{LIFE}::test_the_first_at_rest_is_always_in_it",
        f"{LIFE}::test_those_at_rest_already_count_and_more_may_come_with_them",
    ),
    "36": said(
        "None in time: no status, timed_out. A word of the user ends it, too.",
        f"{LIFE}::test_time_that_runs_out_is_told",
        f"{LIFE}::test_a_word_of_the_user_ends_it",
    ),
    "37": said(
        "The root closes any agent of its tree.",
        f"{AUTHORITY}::test_an_agent_may_act_on_itself_and_on_what_is_below",
    ),
    "38": said(
        "A sub-agent closes itself and those below it.",
        f"{AUTHORITY}::test_an_agent_may_act_on_itself_and_on_what_is_below",
        f"{LIFE}::test_one_that_closes_itself_has_its_answer_stored_first",
    ),
    "39": said("A close takes the whole subtree.", f"{LIFE}::test_a_close_takes_the_whole_subtree_children_first"),
    # ── list_agents, list_active_agents ───────────────────────────────────────────────────────────────────────────────
    "40": said("list_agents is the catalogue of roles.", f"{LOOKING}::test_the_catalogue_lists_every_role"),
    "41": said(
        "It takes a filter and expanded.",
        f"{LOOKING}::test_list_agents_takes_a_filter_and_expanded",
        f"{LOOKING}::test_one_role_expanded",
    ),
    "42": said("expanded adds models, efforts and prompts.", f"{LOOKING}::test_one_role_expanded"),
    "43": said(
        "list_active_agents lists spawned agents with all that is known of them.",
        f"{LOOKING}::test_an_agent_is_listed_with_all_that_is_known_of_it",
        f"{LOOKING}::test_sessions_are_no_agents",
    ),
    "44": said("scope is children, descendants or all of the tree.", f"{LOOKING}::test_scopes"),
    "45": said("include_tree adds parent and depth.", f"{LOOKING}::test_the_tree_is_told_where_it_is_asked_for"),
    "46": said(
        "include_closed is off by default.",
        f"{LOOKING}::test_only_the_closed_are_left_out",
        f"{LOOKING}::test_list_active_agents_takes_scope_and_flags",
    ),
    "47": said(
        "Only the closed are left out; those that completed or failed wait for input.",
        f"{LOOKING}::test_only_the_closed_are_left_out",
    ),
    "48": said(
        "status_duration_sec counts from the last change of its status, at the moment of the call.",
        f"{LOOKING}::test_how_long_it_stands_so_is_counted_from_its_last_change",
    ),
    # ── observer ──────────────────────────────────────────────────────────────────────────────────────────────────────
    "49": said(
        "An agent is observed from its spawn on.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    "50": said(
        "It goes from pending_init to running to an end.",
        f"{OBSERVER}::test_it_goes_from_its_birth_to_work_to_an_end",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    "51": said(
        "Observing does not end with its first end.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    "52": said(
        "Every change is a background event of its owner.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
        f"{OBSERVER}::test_the_parent_of_the_agent_hears_it_and_nobody_else",
    ),
    "53": said(
        "Those of an end are final.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
        f"{AGENTS}::test_background_events_tell_how_they_stand",
    ),
    # Our own terminal rings.
    "54": said("A terminal notifies at a final event.", BELL),
    "55": said("By BEL or OSC 9, as the terminal can.", f"{PARTS}::test_a_terminal_is_told_in_its_own_way"),
    "56": said("Not while it has the focus.", BELL, f"{PARTS}::test_nobody_is_told_what_they_are_looking_at"),
    "57": said(
        "Filtered by [tui] notifications.",
        BELL,
        f"{PARTS}::test_notifications_are_filtered_by_their_type",
        "tests/server/config/test_config_layers.py::test_every_key_of_the_contract_is_read",
    ),
    "58": said(
        "The text of an end has role, id, call, time and message, in one form.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
        f"{OBSERVER}::test_times_are_short",
        f"{OBSERVER}::test_messages_are_one_line_of_so_many_characters",
        f"{OBSERVER}::test_an_agent_without_a_type_or_a_call_has_names_all_the_same",
    ),
    # ── sub-sessions ──────────────────────────────────────────────────────────────────────────────────────────────────
    "S1": said(
        "create_session takes a type and a prompt, and returns session_id.",
        f"{SESSIONS}::test_they_are_functions_and_take_what_they_say",
        f"{SESSIONS}::test_it_returns_at_once_with_the_id_of_the_child",
    ),
    "S2": said("The type is a template: prompt and model.", f"{SESSIONS}::test_its_type_is_a_template"),
    "S3": said(
        "The prompt is the child's first message.",
        f"{SESSIONS}::test_it_returns_at_once_with_the_id_of_the_child",
    ),
    "S4": said(
        "session_id is the id of the child's thread.",
        f"{SESSIONS}::test_it_returns_at_once_with_the_id_of_the_child",
    ),
    "S5": said(
        "It returns as soon as the child is under way.",
        f"{SESSIONS}::test_it_returns_at_once_with_the_id_of_the_child",
    ),
    "S6": said("It errs where there is no child.", f"{SESSIONS}::test_what_cannot_be_spawned_is_an_error"),
    "S7": said("wait_session takes an id and a time.", f"{SESSIONS}::test_they_are_functions_and_take_what_they_say"),
    "S8": said(
        "The result is the child's last message alone, or an empty one.",
        f"{SESSIONS}::test_the_result_is_the_last_message_alone",
        f"{SESSIONS}::test_one_that_says_nothing_has_an_empty_result",
    ),
    "S9": said("No time means no wait.", f"{SESSIONS}::test_no_time_means_no_wait"),
    "S10": said("Time that runs out is an error.", f"{SESSIONS}::test_time_that_runs_out_is_an_error"),
    "S11": said(
        "A child that failed gives its error.",
        f"{SESSIONS}::test_a_session_that_failed_gives_its_error",
        f"{SESSIONS}::test_a_session_that_was_cancelled_has_no_result",
    ),
    "S12": said(
        "It holds up the turn; an unknown id is an error.",
        f"{AGENTS}::test_sessions",
        f"{SESSIONS}::test_an_unknown_session_is_an_error",
    ),
    "S13": said(
        "cancel_session says whether there was anything to cancel.",
        f"{SESSIONS}::test_a_session_is_cancelled_with_all_it_has_started",
        f"{SESSIONS}::test_one_that_had_ended_is_not_cancelled",
    ),
    "S14": said("It errs on an unknown id.", f"{SESSIONS}::test_an_unknown_session_is_an_error"),
    "S15": said(
        "A session has a history and a log of its own.",
        f"{SESSIONS}::test_it_has_a_history_and_a_log_of_its_own",
    ),
    "S16": said("Its base instructions are its type's.", f"{SESSIONS}::test_its_type_is_a_template"),
    "S17": said(
        "Its tools are what its type leaves of the parent's.",
        f"{SESSIONS}::test_its_tools_are_what_its_type_leaves_of_the_parents",
        f"{POLICY}::test_a_policy_comes_back_from_the_log_as_it_was",
    ),
    "S18": said("It inherits folder and sandbox.", f"{SESSIONS}::test_it_inherits_folder_and_fence_and_asks_nobody"),
    "S19": said("It asks nobody.", f"{SESSIONS}::test_it_inherits_folder_and_fence_and_asks_nobody"),
    "S20": said(
        "One input starts it, and its last message is kept.",
        f"{SESSIONS}::test_the_result_is_the_last_message_alone",
    ),
    "S21": said(
        "It runs, is done or has failed.",
        f"{SESSIONS}::test_clients_of_the_parent_hear_how_it_begins_and_ends",
        f"{SESSIONS}::test_one_that_says_nothing_has_an_empty_result",
        f"{SESSIONS}::test_a_session_that_failed_gives_its_error",
    ),
    "S22": said(
        "A parent that is interrupted or closed takes its sessions along.",
        f"{SESSIONS}::test_an_interrupted_parent_takes_its_sessions_along_and_leaves_its_agents",
        f"{SESSIONS}::test_a_parent_that_closes_takes_them_along",
        f"{SESSIONS}::test_a_new_message_of_the_user_cancels_nothing",
    ),
    "S23": said("A session can have sessions.", f"{SESSIONS}::test_a_session_can_have_sessions"),
    "S24": said("There is tester.", f"{SESSIONS}::test_the_types_of_the_first_day"),
    "S25": said("There is mathematician.", f"{SESSIONS}::test_the_types_of_the_first_day"),
    "S26": said("There is linter_fixer.", f"{SESSIONS}::test_the_types_of_the_first_day"),
    "S27": said("There is default, on the parent's model.", f"{SESSIONS}::test_the_types_of_the_first_day"),
    "S28": said(
        "Its log lies among the others, by date.",
        f"{SESSIONS}::test_it_has_a_history_and_a_log_of_its_own",
    ),
    "S29": said(
        "Clients of the parent hear that it was spawned.",
        f"{SESSIONS}::test_clients_of_the_parent_hear_how_it_begins_and_ends",
    ),
    "S30": said(
        "That it has completed.",
        f"{SESSIONS}::test_clients_of_the_parent_hear_how_it_begins_and_ends",
        f"{SESSIONS}::test_the_end_is_told_once",
    ),
    "S31": said("That it was cancelled.", f"{SESSIONS}::test_clients_of_the_parent_hear_how_it_begins_and_ends"),
    "S32": said("Its source says what it is.", f"{AGENTS}::test_sessions"),
    "S33": said(
        "A review is the reviewer at work.",
        f"{REVIEWS}::test_a_review_is_a_turn_of_the_thread",
        "tests/server/threads/test_review.py::test_it_works_apart_and_leaves_what_it_found",
    ),
    "S34": said(
        "Nothing it says is streamed into its parent's conversation.",
        f"{SESSIONS}::test_it_has_a_history_and_a_log_of_its_own",
    ),
    "S35": said(
        "No output of its tools reaches its parent.", f"{SESSIONS}::test_it_has_a_history_and_a_log_of_its_own"
    ),
}

# What the origin says, why it does not hold, and the test of what does.
OVERRULED: Final[dict[str, tuple[str, str, str]]] = {
    "O1": (
        "session_id is a UUID of version 4.",
        "It is the id of a thread, and those are of version 7: they sort by their birth.",
        f"{SESSIONS}::test_it_returns_at_once_with_the_id_of_the_child",
    ),
    "O2": (
        "Sub-sessions are kept by a manager of their own, on each session.",
        "They hang on the same owner edges as agents: one mechanism closes, resumes and counts all of them.",
        f"{SESSIONS}::test_a_parent_that_closes_takes_them_along",
    ),
    "O3": (
        "A sub-session has its parent's tools, unchanged.",
        "It has what its type leaves of them, as an agent has.",
        f"{SESSIONS}::test_its_tools_are_what_its_type_leaves_of_the_parents",
    ),
    "O4": (
        "Its source is an existing one, such as Exec.",
        "It says that it is a sub-session: clients need not guess.",
        f"{AGENTS}::test_sessions",
    ),
    "O5": (
        "status_duration_sec is found by reading the log backwards.",
        "It is kept with the status: a list opens no log.",
        f"{LOOKING}::test_how_long_it_stands_so_is_counted_from_its_last_change",
    ),
    "O6": (
        "An agent ends as completed, errored or shutdown.",
        "Or as interrupted, which is at rest and takes input again.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    "O7": (
        "The text of an end is fixed for completed alone.",
        "Every end has the same form.",
        f"{OBSERVER}::test_every_change_is_told_and_it_goes_on_after_the_first_end",
    ),
    "O8": (
        "wait ends with the first agent at rest, or with its time.",
        "A word of the user ends it, too: it would not be read before.",
        f"{LIFE}::test_a_word_of_the_user_ends_it",
    ),
    "O9": (
        "The root closes any agent that there is.",
        "Any of its own tree: others belong to somebody else.",
        f"{AUTHORITY}::test_an_agent_may_act_on_itself_and_on_what_is_below",
    ),
}
