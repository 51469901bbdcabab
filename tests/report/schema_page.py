"""docs/schema.md, made of the schema: ``python tests/report/schema_page.py > docs/schema.md``."""

from __future__ import annotations

import json

from tellapart.report import schema

INTRODUCTION = """\
# Results as JSON

`to_json()` of every result, and `--json` of the commands, write what this page describes; `to_dict()` gives the same
in Python. The machine-readable form is a JSON Schema (draft 2020-12) in the package,
`tellapart/report/schema/results-1.json`:

```python
import json, jsonschema, tellapart.report

jsonschema.validate(json.loads(result.to_json()), tellapart.report.schema())
```

`schema_version` is 1. Within a version fields may be added, so readers should ignore those they do not know. A field
that is renamed, removed or means something else makes a new version. `result` says which of the results below it is.
There is no NaN: what is not known is `null`. Row numbers count from 0 and are those of the user's data; a header is
not counted.
"""


def page() -> str:
    """The page: a table for each object."""
    known = schema()["$defs"]
    parts = [INTRODUCTION]
    for name, definition in known.items():
        rows = "\n".join(lines(definition, known))
        parts.append(
            f"## {name}\n\n{definition['description']}\n"
            + (f"\n| field | type | |\n|---|---|---|\n{rows}\n" if rows else "")
        )
    return "\n".join(parts)


def lines(definition, known, prefix=""):
    for name, field in definition.get("properties", {}).items():
        said = field.get("description") or known[field["$ref"].rsplit("/", 1)[1]]["description"]
        absent = "" if name in definition["required"] else " May be absent."
        yield f"| `{prefix}{name}` | {kind(field)} | {said}{absent} |"
        inside = field.get("items", field)
        yield from lines(inside, known, f"{prefix}{name}{'[]' if 'items' in field else ''}.")


def kind(field) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name})"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(map(kind, field["anyOf"]))
    found = field.get("type", "any")
    found = " or ".join(found) if isinstance(found, list) else found
    inside = field.get("items", field.get("additionalProperties"))
    return f"{found} of {kind(inside)}" if isinstance(inside, dict) else found


if __name__ == "__main__":
    print(page(), end="")
