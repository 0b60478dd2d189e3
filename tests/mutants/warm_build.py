"""A build session in this very process, where torch and triton are imported already: most of a short build is that.

Candidate code runs in the forks that the builder makes of itself; what the box would keep out of them is not kept out,
so it is for candidates of this repository alone.
"""

from __future__ import annotations

import io
import time

from tilewright_sandbox import wire
from tilewright_sandbox.boxes.process import ProcessBox
from tilewright_sandbox.boxes.protocol import Exchange
from tilewright_sandbox.builder.build import serve_build
from tilewright_sandbox.jobs import BuildRequest


class BuildHere:
    label = ProcessBox.label

    def exchange(self, request: bytes, timeout_s: float) -> Exchange:
        started = time.monotonic()
        body, _ = wire.unpack(io.BytesIO(request))
        reply, blobs = serve_build(BuildRequest.model_validate_json(body))
        answer = wire.pack(reply.model_dump_json().encode(), blobs)
        return Exchange("replied", answer, "", None, time.monotonic() - started)

    def close(self) -> None: ...
