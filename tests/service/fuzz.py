"""``make fuzz``: a server with a small space, and schemathesis (in an environment of its own) against all its routes.

Run ``python -m tests.service.fuzz PATH_OF_SCHEMATHESIS [SECONDS]``. Exits with 0 when no answer was a server error and
every answer has a status, a type and a form that the OpenAPI document names.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.service.test_crash import start_server, stop

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
ENDLESS = "/v1/events"


def aimed(document):
    """The document with the names of things that exist, so that the fuzzing gets past the door."""
    text = json.dumps(document).replace("/{c}", "/a").replace("{n}", "1")
    text = text.replace('"maxItems": 4096, "minItems": 1', '"maxItems": 3, "minItems": 3')
    document = json.loads(text)
    document["paths"].pop(ENDLESS, None)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            there = operation.get("parameters", [])
            operation["parameters"] = [p for p in there if p["in"] != "path" or f"{{{p['name']}}}" in path]
            for parameter in operation["parameters"]:
                if parameter["in"] == "path" and parameter["schema"]["type"] == "integer":
                    parameter["schema"] |= {"minimum": 0, "maximum": 40}
    return document


def prepare(client):
    client.create("a", 3)
    client.add(
        "a", [[i % 5, i % 3, i % 2] for i in range(30)], range(30), meta=[{"color": "red", "n": i} for i in range(30)]
    )
    for i in range(20):
        client.feedback("a", i, (7 * i + 3) % 30, i % 3 > 0)
    client.learn("a")


def main():
    program, seconds = str(Path(sys.argv[1]).absolute()), sys.argv[2] if len(sys.argv) > 2 else "60"
    with tempfile.TemporaryDirectory() as folder:
        server, client = start_server(Path(folder) / "space")
        try:
            prepare(client)
            document = Path(folder) / "openapi.json"
            document.write_text(json.dumps(aimed(client.request("GET", "/openapi.json"))))
            command = [
                program,
                "run",
                str(document),
                "--url",
                client.address,
                "--checks",
                CHECKS,
                "--max-time",
                seconds,
                "--request-timeout",
                "60",
            ]
            code = subprocess.run([*command, "--generation-allow-x00", "true", "--seed", "1"], cwd=folder).returncode
            assert client.request("GET", "/readyz")["status"] == "ok"
        finally:
            stop(server)
    return code


if __name__ == "__main__":
    sys.exit(main())
