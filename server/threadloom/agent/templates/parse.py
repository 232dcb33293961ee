"""The text of a template: front matter in YAML, the default prompt, and the prompts of its personas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from threadloom.agent.templates.base import Fault, Persona, Source, Template

# YAML is slow to read, the more so the deeper it is nested, and a repository may hold anything.
MAX_MATTER: Final = 8 * 1024  # characters
MAX_BRACKETS: Final = 256
MAX_NAME: Final = 64

_MATTER: Final = re.compile(r"\A---[ \t]*\n(?P<matter>.*?)^---[ \t]*(?:\n|\Z)(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
_MARKER: Final = re.compile(r"^[ \t]*<!--[ \t]*agent_name:[ \t]*(.*?)[ \t]*-->[ \t]*$", re.MULTILINE)
_TEXTS: Final = ("model", "model_provider", "reasoning_effort")
_KNOWN: Final = frozenset({"description", *_TEXTS, "read_only", "allow_list", "deny_list", "agent_names"})
_PERSONA: Final = frozenset({"name", "description", "model", "reasoning_effort"})


class Broken(ValueError):
    """The template cannot be used; the text says why."""


def parse(name: str, text: str, path: str = "", source: Source = "built-in") -> tuple[Template, list[Fault]]:
    """The template, and what of it is passed over. Raises `Broken`."""
    checked_name(name)
    matter, body = _split(text)
    values = _loaded(matter)
    prompt, prompts = _prompts(body)
    faults = [Fault(path, f"unknown key `{key}` is passed over", skipped=False) for key in _strange(values)]
    personas = tuple(_personas(values.get("agent_names"), prompts))
    strangers = prompts.keys() - {it.name for it in personas}
    faults += [
        Fault(path, f"the prompt of `{it}` is passed over: agent_names has no such name", skipped=False)
        for it in sorted(strangers)
    ]
    if source == "project" and values.get("model_provider") is not None:
        # As with the configuration: where prompts and keys go is not for a repository to decide.
        values = {**values, "model_provider": None}
        faults.append(Fault(path, "`model_provider` is passed over: a project may not set it", skipped=False))
    template = Template(
        name=name,
        description=_description(values),
        read_only=_flag(values, "read_only"),
        allow_list=_names(values, "allow_list"),
        deny_list=_names(values, "deny_list") or (),
        personas=personas,
        prompt=prompt,
        source=source,
        path=path,
        **{key: _text(values, key) for key in _TEXTS},
    )
    return template, faults


def checked_name(name: str) -> str:
    """A name that a model can write, and a person can read."""
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise Broken(f"{name!r} is no name: it must be printable and have no blanks at its ends")
    if len(name) > MAX_NAME:
        raise Broken(f"the name {name[:16]}… has more than {MAX_NAME} characters")
    return name


def _split(text: str) -> tuple[str, str]:
    found = _MATTER.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if found is None:
        raise Broken("no front matter: it must begin with a line of `---`, and end with another")
    if len(found["matter"]) > MAX_MATTER:
        raise Broken(f"the front matter has more than {MAX_MATTER} characters")
    if sum(map(found["matter"].count, "[{")) > MAX_BRACKETS:
        raise Broken(f"the front matter has more than {MAX_BRACKETS} brackets")
    return found["matter"], found["body"]


def _loaded(matter: str) -> dict[str, Any]:
    import yaml  # late: many servers never start an agent

    try:
        loader = yaml.SafeLoader(matter)
        node = loader.get_single_node()
        _once(node, yaml.MappingNode)
        values = loader.construct_document(node) if node is not None else {}
    except Broken:
        raise
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 2}: " if error.problem_mark else ""
        hint = " (quote a pattern that begins with `*`)" if "alias" in str(error.context) else ""
        raise Broken(f"{line}the front matter is not YAML: {error.problem}{hint}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise Broken("the front matter is not YAML") from None
    if not isinstance(values, dict):
        raise Broken("the front matter must be a table of keys and values")
    return values


def _once(node: Any, mapping: Any) -> None:
    """YAML lets the last of two equal keys win; a denial that is lost that way would be a right gained."""
    for table in (node, *_tables(node, mapping)):
        keys = [key.value for key, _ in table.value] if isinstance(table, mapping) else []
        twice = next((key for key in keys if isinstance(key, str) and keys.count(key) > 1), None)
        if twice is not None:
            raise Broken(f"`{twice}` is there twice")


def _tables(node: Any, mapping: Any) -> Iterator[Any]:
    """The entries of `agent_names`: nothing of use lies deeper."""
    for _, value in node.value if isinstance(node, mapping) else ():
        if isinstance(value.value, list):
            yield from (it for it in value.value if isinstance(it, mapping))


def _strange(values: Mapping[Any, Any]) -> list[str]:
    personas = values.get("agent_names")
    entries = [it for it in personas if isinstance(it, dict)] if isinstance(personas, list) else []
    inner = dict.fromkeys(f"agent_names.{key}" for it in entries for key in it if key not in _PERSONA)
    return [*(str(key) for key in values if key not in _KNOWN), *inner]


def _prompts(body: str) -> tuple[str | None, dict[str, str]]:
    first, *rest = _MARKER.split(body)
    prompts: dict[str, str] = {}
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        if name in prompts:
            raise Broken(f"`{name}` has two prompts")
        prompts[name] = text.strip()
    return first.strip() or None, prompts


def _personas(stored: Any, prompts: Mapping[str, str]) -> Iterator[Persona]:
    if stored is None:
        return
    if not isinstance(stored, list) or not all(isinstance(it, dict) for it in stored):
        raise Broken("`agent_names` must be a list of tables, each with a name")
    seen: set[str] = set()
    for it in stored:
        name = _text(it, "name", "agent_names.name")
        if name is None:
            raise Broken("an entry of `agent_names` has no name")
        if checked_name(name) in seen:
            raise Broken(f"`agent_names` has `{name}` twice")
        seen.add(name)
        others = {key: _text(it, key, f"agent_names.{key}") for key in ("description", "model", "reasoning_effort")}
        yield Persona(name, prompt=prompts.get(name) or None, **others)


def _description(values: Mapping[str, Any]) -> str:
    description = _text(values, "description")
    if description is None:
        raise Broken("`description` is missing")
    return description


def _text(values: Mapping[str, Any], key: str, shown: str | None = None) -> str | None:
    value = values.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise Broken(f"`{shown or key}` must be text")
    return value if value is None else value.strip()


def _flag(values: Mapping[str, Any], key: str) -> bool:
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise Broken(f"`{key}` must be true or false")
    return bool(value)


def _names(values: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(it, str) and it.strip() for it in value):
        raise Broken(f"`{key}` must be a list of tool names")
    return tuple(dict.fromkeys(it.strip() for it in value))
