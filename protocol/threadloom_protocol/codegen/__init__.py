"""Everything that is made from the protocol's declarations, as text: schema, reference, TypeScript, parity."""

from __future__ import annotations

from threadloom_protocol.codegen import parity, reference, schema, typescript
from threadloom_protocol.spec import Surface


def generate(surface: Surface) -> dict[str, str]:
    """Every generated file of the repository: its path there, and its text."""
    document = schema.document(surface)
    return {
        f"schemas/v{surface.version}.json": schema.render(document),
        f"schemas/v{surface.version}.md": reference.render(surface, document),
        "schemas/parity.md": parity.render(surface),
        f"clients/typescript/src/v{surface.version}.ts": typescript.render(document),
    }
