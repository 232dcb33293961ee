"""Keys: kept for their owner, shown to nobody."""

from __future__ import annotations

import base64
import json
import stat
from codecs import BOM_UTF8
from pathlib import Path

import pytest
from tests.server.config.desk import Desk

from threadloom.config import Settings, auth
from threadloom.config.auth import Keyring, Login
from threadloom.config.values import Provider

SECRET = "sk-never-to-be-seen"


def test_a_key_is_kept_for_its_owner_alone(desk: Desk) -> None:
    desk.keyring().store(SECRET)
    file = desk.home / "auth.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.home.stat().st_mode) == 0o700
    assert json.loads(file.read_text()) == {"auth_mode": "apikey", "OPENAI_API_KEY": SECRET}
    file.chmod(0o644)
    desk.keyring().store("another")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "a file that others could read is no more"


def test_a_key_behind_a_mark_that_editors_put_first_is_read(desk: Desk) -> None:
    desk.keyring().store(SECRET)
    file = desk.home / "auth.json"
    file.write_bytes(BOM_UTF8 + file.read_bytes())
    assert desk.keyring().login == Login("apikey", SECRET)


def test_a_login_is_seen_by_other_servers_of_the_home(desk: Desk) -> None:
    one, other = desk.keyring(), desk.keyring()
    assert other.login is None
    one.store(SECRET)
    assert other.login == Login("apikey", SECRET)
    other.forget()
    assert one.login is None
    other.forget()


def test_lent_tokens_are_never_written_down(desk: Desk) -> None:
    keyring = desk.keyring()
    keyring.lend(Login("chatgptAuthTokens", SECRET, "account", "pro"))
    assert keyring.login is not None
    assert keyring.login.mode == "chatgptAuthTokens"
    assert not desk.home.exists()
    keyring.forget()
    assert keyring.login is None


def test_a_key_takes_the_place_of_lent_tokens(desk: Desk) -> None:
    keyring = desk.keyring()
    keyring.lend(Login("chatgptAuthTokens", "token", "account"))
    keyring.store(SECRET)
    assert keyring.login == Login("apikey", SECRET)


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"OPENAI_API_KEY": null}', '{"OPENAI_API_KEY": "  "}', "{}"])
def test_a_file_with_no_key_in_it_is_no_login(desk: Desk, body: str) -> None:
    desk.home.mkdir()
    (desk.home / "auth.json").write_text(body)
    assert desk.keyring().login is None


def test_codex_s_own_keys_are_not_touched(guest: Desk) -> None:
    assert guest.foreign is not None
    guest.foreign.mkdir()
    (guest.foreign / "auth.json").write_text('{"OPENAI_API_KEY": "theirs"}')
    keyring = guest.keyring()
    keyring.store("ours")
    assert guest.keyring().login == Login("apikey", "ours")
    keyring.forget()
    assert (guest.foreign / "auth.json").read_text() == '{"OPENAI_API_KEY": "theirs"}'


OPENAI = Provider(requires_openai_auth=True)


@pytest.mark.parametrize(
    ("provider", "environ", "login", "bearer"),
    [
        (OPENAI, {}, None, None),
        (OPENAI, {"OPENAI_API_KEY": "env"}, None, "env"),
        (OPENAI, {"OPENAI_API_KEY": ""}, None, None),
        (OPENAI, {"OPENAI_API_KEY": "env"}, "login", "login"),
        (Provider(), {"OPENAI_API_KEY": "env"}, "login", None),
        (Provider(env_key="MINE"), {"MINE": "mine", "OPENAI_API_KEY": "env"}, "login", "mine"),
        (Provider(env_key="MINE"), {"MINE": " ", "OPENAI_API_KEY": "env"}, "login", None),
        (Provider(env_key="MINE", requires_openai_auth=True), {}, "login", "login"),
        (Provider(experimental_bearer_token="own"), {}, "login", "own"),
    ],
)
def test_a_provider_is_shown_its_own_key_or_the_account_s_or_none(
    desk: Desk, provider: Provider, environ: dict[str, str], login: str | None, bearer: str | None
) -> None:
    desk.environ.update(environ)
    keyring = desk.keyring()
    if login:
        keyring.store(login)
    assert keyring.bearer(provider) == bearer


def test_no_text_that_is_made_of_it_has_a_secret_in_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr(auth.log, "_write", lambda *line: logged.append(repr(line)))
    flags = {"model_providers.p.http_headers.Authorization": SECRET}
    desk.environ["OPENAI_API_KEY"] = SECRET
    configuration = desk.configuration(**{key.replace(".", "__"): value for key, value in flags.items()})
    desk.home.mkdir()
    (desk.home / "auth.json").write_text(f'{{"OPENAI_API_KEY": "{SECRET}"')
    keyring = Keyring(desk.home, desk.environ)
    assert keyring.login is None
    loaded = configuration.load()
    assert loaded.config.model_providers["p"].http_headers == {"Authorization": SECRET}
    texts = [Settings(Path(), flags), loaded, loaded.config, loaded.layers, keyring, Login("apikey", SECRET)]
    said = "".join([*map(repr, texts), *logged])
    assert "auth.json cannot be read" in said
    assert SECRET not in said


def test_what_a_token_says_of_itself() -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"email": "a@example.org"}).encode()).decode().rstrip("=")
    assert Login("chatgptAuthTokens", f"head.{claims}.tail").claims == {"email": "a@example.org"}
    for token in ("opaque", "a.b.c", "a.W10.c", "..", "a.é.c"):
        assert Login("chatgptAuthTokens", token).claims == {}
