"""A copy of the server that may be broken, for the tests of a file."""

from __future__ import annotations

import pytest
from tests.support.workshop import Workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))
