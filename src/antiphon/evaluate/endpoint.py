"""A language model behind an OpenAI-compatible address that the user names: asked for one word and its rivals."""

import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from antiphon.errors import AntiphonError

_LARGEST = 1_000_000  # bytes of an answer
_TRIES = 4


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key that is sent to one address is not carried to another."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


@dataclass(frozen=True)
class Endpoint:
    """Where the model is, such as http://127.0.0.1:8000/v1, its name there, and the key, which is never shown."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0  # seconds for each request
    pause: float = 1.0  # seconds before the second try; each next one waits twice as long

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            raise AntiphonError(f"judge-url: {self.url!r} is no address. Name one such as http://127.0.0.1:8000/v1")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key):
            raise AntiphonError("judge-key: the variable holds no key, or one with odd characters. Set it anew.")

    def first_words(self, prompt: str) -> dict[str, float]:
        """The likeliest first words of the model's answer, with their probabilities."""
        content = self._post(
            {
                "model": self.model,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": 20,
            }
        )
        try:
            rivals = content["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            pairs = [(str(one["token"]), float(one["logprob"])) for one in rivals]
        except (KeyError, IndexError, TypeError, ValueError):
            raise AntiphonError(
                f"{self.url}: {self.model} gives no top_logprobs, and the score is weighed by them. Name another model."
            ) from None
        found: dict[str, float] = {}
        for token, log in pairs:
            found[token.strip()] = found.get(token.strip(), 0.0) + math.exp(min(log, 0.0))
        return found

    def _post(self, content: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        body = json.dumps(content).encode()
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, body, headers)  # noqa: S310  (http and https only, see above)
        opener = urllib.request.build_opener(_NoRedirect)
        reason = ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                with opener.open(request, timeout=self.timeout) as answer:
                    return json.loads(answer.read(_LARGEST))
            except urllib.error.HTTPError as error:
                reason = f"HTTP {error.code}"
                error.close()
                if error.code not in (429, 500, 502, 503, 504):
                    break
            except (OSError, HTTPException) as error:
                reason = str(getattr(error, "reason", None) or error or type(error).__name__)
            except ValueError:
                reason = "no JSON"
                break
        raise AntiphonError(f"{address}: no answer to be used ({reason}). Is the model there, and the key right?")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # such as a bracket that is not closed
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
