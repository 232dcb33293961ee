"""Run by itself, as a child of the server: llama.cpp with one model, behind an address of its own on the loopback.

It is told all on its input, one line of JSON; it says where it listens, or what is wrong, on its output, one line of
JSON; and it ends with its input. So it cannot outlive whoever started it, however that one ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Final

# What the makers of the model suggest, and a little against the circles it runs in even so.
TEMPERATURE: Final = 0.2
TOP_P: Final = 0.9
REPEAT_PENALTY: Final = 1.1
DRY: Final = 0.8  # what is said again, word for word, gets less and less likely
SEED: Final = 7  # the same question, the same answer
LONGEST: Final = 512  # tokens of an answer: a small model that has lost its way does not find an end


def main() -> None:
    """Serve until the input ends."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever the library prints is no answer of ours
    asked = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        server = _server(asked)
        told = {"url": server.listening_address}
    except Exception as fault:
        told = {"error": f"{type(fault).__name__}: {fault}"}
    os.write(out, json.dumps(told).encode() + b"\n")
    threading.Event().wait()


def _end_with_input() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)  # the library's threads would not let go by themselves


def _server(asked: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = asked["weights"]
    params.model_alias = {asked["model"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [asked["key"]]  # others on this machine can reach the address, too
    params.n_ctx = asked["window"]
    params.n_parallel = 1  # the others wait: there is one small machine for all of them
    params.n_predict = LONGEST
    params.cache_ram_mib = 0
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = -1
    params.sampling.temp = TEMPERATURE
    params.sampling.top_p = TOP_P
    params.sampling.penalty_repeat = REPEAT_PENALTY
    params.sampling.dry_multiplier = DRY
    params.sampling.seed = SEED
    for cpu in (params.cpuparams, params.cpuparams_batch):
        # Threads of llama.cpp wait for each other in circles: on a core that others use, more of them are slower.
        cpu.n_threads = asked["threads"]
        cpu.poll = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
