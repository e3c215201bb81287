#!/usr/bin/env python3
"""Calls one function of a Python module for a capability of hence.

Usage: hence-pythoncall.py MODULE FUNCTION REQUEST RESPONSE

Reads the input of the call as JSON from standard input, builds the keyword arguments that REQUEST describes, and writes the
output that RESPONSE describes as JSON to standard output. The module is looked up from the current folder.
"""

import contextlib
import importlib
import json
import os
import re
import sys

MISSING = object()
PLACEHOLDER = re.compile(r"\$\{input\.([^}]+)\}")


def look_up(value, path):
    """Returns the value at a dotted path, or MISSING."""
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def as_text(value):
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def fill(template, given):
    """Returns a template of REQUEST with the values of the input in it."""
    if isinstance(template, dict):
        filled = {key: fill(value, given) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not MISSING}
    if isinstance(template, list):
        return [None if item is MISSING else item for item in (fill(item, given) for item in template)]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole:
        return look_up(given, whole.group(1))
    if template.startswith("input."):
        return look_up(given, template[len("input."):])
    return PLACEHOLDER.sub(lambda found: as_text(look_up(given, found.group(1))), template)


def main():
    module, function, request, response = sys.argv[1:5]
    given = json.load(sys.stdin)
    sys.path.insert(0, os.getcwd())
    # What the module prints goes to standard error: standard output carries the answer alone.
    with contextlib.redirect_stdout(sys.stderr):
        found = getattr(importlib.import_module(module), function)
        answer = found(**fill(json.loads(request), given))
    output = {}
    for name, place in json.loads(response).items():
        is_path = isinstance(place, str) and place.startswith("response.")
        value = look_up(answer, place[len("response."):]) if is_path else place
        if value is not MISSING:
            output[name] = value
    json.dump(output, sys.stdout)


if __name__ == "__main__":
    main()
