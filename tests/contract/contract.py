"""Starts a server, gives it a model and a job, and lets schemathesis loose on it.

    python3 contract.py SCHEMATHESIS SECONDS
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))

from support import Server  # noqa: E402


def main() -> int:
    tool, seconds = sys.argv[1:]
    server = Server("--max-upload-mib", "8", "--workers", "1", "--max-unfinished", "100000",
                    "--heartbeat-ms", "500")
    url = f"http://{server.host}:{server.port}"
    try:
        server.wait(server.submit(server.upload())["id"])
        with tempfile.TemporaryDirectory() as folder:  # it leaves files where it runs
            for name in ("schemathesis.toml", "hooks.py"):
                shutil.copy(HERE / name, folder)
            return subprocess.run([tool, "run", f"{url}/v1/openapi.json", "--url", url, "--max-time",
                                   seconds], cwd=folder, check=False).returncode
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(main())
