"""One bucket of an object store: listings that are asked for once, whole objects, and errors of one line.

Credentials and endpoints come from the environment, as obstore reads it: ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``,
``AWS_REGION``, ``AWS_ALLOW_HTTP`` and the like, ``GOOGLE_*`` and ``AZURE_*``.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from resweep.errors import InputError, ResweepError
from resweep.optional import require

# The schemes that are read, and what of the environment gives their credentials.
SCHEMES = {
    "s3": ("AWS_", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"),
    "gs": ("GOOGLE_", "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("AZURE_", "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"),
}
_TIMEOUTS = {"connect_timeout": "5s", "timeout": "60s"}  # of one request, of which none has more than a part of a file
_RETRIES = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=10),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2},
}
_TRUE = ("1", "true", "yes", "on", "y")


@dataclass(frozen=True)
class StoredObject:
    """One object: its ``size`` in bytes, its ``tag``, which changes with its bytes, and when it was written (ns)."""

    size: int
    tag: str
    written_ns: int


@dataclass(frozen=True)
class Version:
    """What an object was when it was read or written, for conditions: S3 and Azure go by ``tag``, Google by number."""

    tag: str
    number: str | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Version:
        """The version in a store's answer."""
        return cls(str(item["e_tag"]), item["version"])


@dataclass
class Listing:
    """What lies directly below a prefix: objects and further prefixes by name."""

    files: dict[str, StoredObject] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.files or self.folders)


class ChangedError(ResweepError):
    """An object is no longer the one that was listed, or that a condition asked for."""


class Bucket:
    """A bucket of an object store. What was listed is cached until `clear_cache`."""

    def __init__(self, scheme: str, name: str) -> None:
        self.scheme, self.name, self.url = scheme, name, f"{scheme}://{name}"
        self._api = require("obstore", f"reading {self.url}")
        self._errors = require("obstore.exceptions", f"reading {self.url}")
        self._store = self._connect()
        self._guard = threading.Lock()
        self._listings: dict[str, Listing] = {}
        self._entries: dict[str, StoredObject | None] = {}
        self._roots: set[str] = set()

    def _connect(self) -> Any:
        stores = require("obstore.store", f"reading {self.url}")
        prefix, _ = SCHEMES[self.scheme]
        # Options of the client replace what obstore takes from the environment: the one of these that it has.
        plain = os.environ.get(f"{prefix}ALLOW_HTTP", "").lower() in _TRUE
        options = {**_TIMEOUTS, "allow_http": plain}
        try:
            return stores.from_url(self.url, client_options=options, retry_config=_RETRIES)
        except Exception as error:  # what the environment holds may be wrong in any way
            raise self._describe("", error) from error

    def begin(self, key: str) -> None:
        """Take ``key`` for the place that a user named: what is listed there is asked for anew."""
        with self._guard:
            self._roots.add(key)
        self.clear_cache(key)

    def clear_cache(self, key: str) -> None:
        """Clear what is cached of ``key``, of all below it, and of the folders that it lies in."""
        below = f"{key}/" if key else ""

        def touches(known: str) -> bool:
            return known == key or known.startswith(below) or key.startswith(f"{known}/") or known == ""

        with self._guard:
            for memo in (self._listings, self._entries):
                for known in [item for item in memo if touches(item)]:
                    del memo[known]

    def list_folder(self, key: str) -> Listing:
        """What lies directly below the prefix ``key``; an empty listing if nothing does."""
        with self._guard:
            known = self._listings.get(key)
        if known is not None:
            return known
        with self._explain(key, outside_is_missing=True):
            found = self._api.list_with_delimiter(self._store, f"{key}/" if key else None)
            listing = Listing(
                {_take_last(item["path"]): _read_entry(item) for item in found["objects"] if item["path"] != key},
                {_take_last(prefix) for prefix in found["common_prefixes"]},
            )
            with self._guard:
                self._listings[key] = listing
            return listing
        return Listing()

    def list_all(self, key: str) -> dict[str, StoredObject]:
        """Every object below the prefix ``key``, by its key."""
        found: dict[str, StoredObject] = {}
        with self._explain(key):
            for page in self._api.list(self._store, f"{key}/" if key else None, chunk_size=1000):
                found |= {item["path"]: _read_entry(item) for item in page if item["path"] != key}
        with self._guard:
            self._entries.update(found)
        return found

    def find(self, key: str) -> StoredObject | None:
        """The object ``key``, or None; its folder's listing answers if that is known."""
        folder, _, name = key.rpartition("/")
        with self._guard:
            listing = self._listings.get(folder)
            if listing is not None:
                return listing.files.get(name)
            if key in self._entries:
                return self._entries[key]
        entry: StoredObject | None = None
        with self._explain(key, outside_is_missing=True):
            try:
                entry = _read_entry(self._api.head(self._store, key))
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
        with self._guard:
            self._entries[key] = entry
        return entry

    def is_folder(self, key: str) -> bool:
        """Whether anything lies below the prefix ``key``."""
        folder, _, name = key.rpartition("/")
        with self._guard:
            listing = self._listings.get(folder) if key else None
        return name in listing.folders if listing is not None else bool(self.list_folder(key))

    def read(self, key: str, tag: str | None = None, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of an object, of which ``tag`` must be true if given; FileNotFoundError if there is none."""
        options: dict[str, Any] = {} if tag is None else {"if_match": tag}
        if end is not None:
            options["range"] = (start, end)
        with self._explain(key):
            return bytes(self._api.get(self._store, key, options=options or None).bytes())
        raise AssertionError  # the line above returns or raises

    def read_version(self, key: str) -> tuple[bytes, Version]:
        """The bytes of an object and its version, both of one moment."""
        with self._explain(key):
            found = self._api.get(self._store, key)
            return bytes(found.bytes()), Version.of(found.meta)
        raise AssertionError

    def write(self, key: str, data: Any, *, new: bool = False, replaces: Version | None = None) -> Version:
        """Put bytes or a file, whole or not at all; returns its version.

        With ``new`` an object that is there is a `ChangedError`; with ``replaces`` any other than that version.
        """
        # One request that carries the condition: parts would be put together without it.
        condition: dict[str, Any] = {"mode": "create", "use_multipart": False} if new else {}
        if replaces is not None:
            known = {"e_tag": replaces.tag, "version": replaces.number}
            mode = {name: value for name, value in known.items() if value is not None}
            condition = {"mode": mode, "use_multipart": False}
        with self._explain(key):
            item = self._api.put(self._store, key, data, **condition)
            self._note_change(key)
            return Version.of(item)
        raise AssertionError

    def remove(self, keys: list[str]) -> None:
        """Remove objects; those that are gone already are no error."""
        for first in range(0, len(keys), 1000):
            with self._explain(keys[first]):
                try:
                    self._api.delete(self._store, keys[first : first + 1000])
                except FileNotFoundError as error:
                    if "NoSuchBucket" in str(error):
                        raise
        for key in keys:
            self._note_change(key)

    def _note_change(self, key: str) -> None:
        """Forget what is known of one object that was written or removed: itself, and the folders that list it."""
        with self._guard:
            self._entries.pop(key, None)
            while key:
                key = key.rpartition("/")[0]
                self._listings.pop(key, None)

    @contextmanager
    def _explain(self, key: str, outside_is_missing: bool = False) -> Iterator[None]:
        """Turn the store's error into one line.

        With ``outside_is_missing``, what may not be seen outside of the places that users named counts as missing:
        readers look for files in the folders above, for which no rights may have been given.
        """
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise self._describe(key, error) from error
            raise FileNotFoundError(2, "no such object", f"{self.url}/{key}") from error
        except (self._errors.AlreadyExistsError, self._errors.PreconditionError) as error:
            raise ChangedError(f"{self.url}/{key}: was changed by another process meanwhile; try again") from error
        except self._errors.BaseError as error:
            described = self._describe(key, error)
            refused = _is_refused(error)
            with self._guard:
                inside = any(key == root or key.startswith(f"{root}/") or not root for root in self._roots)
            if not (outside_is_missing and refused and not inside):
                raise described from error
        except (OSError, ValueError) as error:
            raise error if isinstance(error, ResweepError) else self._describe(key, error) from error

    def _describe(self, key: str, error: Exception) -> ResweepError:
        """The error of the store in one line, with what to do."""
        text = str(error)
        code = (re.search(r"<Code>(\w+)</Code>", text) or re.search(r"status code: (\d+ \w+)", text) or [None, ""])[1]
        named = re.sub(r"(^|/)\.([^/]+)\.lock$", r"\1\2", key)  # a lease is asked for first; users know its output
        url, (prefix, credentials) = f"{self.url}/{named}".rstrip("/"), SCHEMES[self.scheme]
        if "NoSuchBucket" in text:
            return ResweepError(f"{self.url}: no such bucket; check its name and the endpoint ({prefix}ENDPOINT_URL)")
        if "169.254.169.254" in text or "metadata.google" in text:  # asked for credentials last, if there are no others
            return ResweepError(f"{url}: no credentials were found; set {credentials}")
        if _is_refused(error):
            return ResweepError(f"{url}: access was refused ({code or 'denied'}); check {credentials}")
        if "builder error" in text:
            return ResweepError(f"{url}: its endpoint is http; set {prefix}ALLOW_HTTP=true if that is meant")
        if "error sending request" in text or "timed out" in text or "operation timed out" in text:
            where = re.search(r"https?://[^/\s]+", text)
            return ResweepError(
                f"{url}: {where[0] if where else 'the store'} cannot be reached; check the network and "
                f"{prefix}ENDPOINT_URL"
            )
        line = " ".join(text.split("Debug source:")[0].split())[:300]
        return InputError(f"{url}: the store failed ({code or line}); try again, or check the URL")


@lru_cache(maxsize=64)
def _open(scheme: str, name: str, settings: tuple[tuple[str, str], ...], process: int) -> Bucket:
    return Bucket(scheme, name)


def open_bucket(scheme: str, name: str) -> Bucket:
    """The bucket of that name, with the credentials that the environment has now."""
    settings = tuple(sorted((key, value) for key, value in os.environ.items() if key.startswith(SCHEMES[scheme][0])))
    return _open(scheme, name, settings, os.getpid())


def _read_entry(item: Mapping[str, Any]) -> StoredObject:
    return StoredObject(int(item["size"]), str(item["e_tag"]), int(item["last_modified"].timestamp()) * 10**9)


def _is_refused(error: Exception) -> bool:
    denied = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
    return denied or re.search(r"status code: 40[13]", str(error)) is not None


def _take_last(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]
