"""Where things lie in a kernel cache, and what the manifest says. A bundle has the same layout, read-only.

    manifest.json            the index: written last, by rename; the run half reads this, records and objects
    records/abcd….json       what the manifest says of a kernel: immutable, named by the SHA-256 of its bytes
    objects/ab/abcd….so      immutable, named by the SHA-256 of their bytes (.so .ptx .cubin)
    keys/                    the build half's diskcache: not in a bundle, rebuildable
    used/abcd…               empty, its time the day of the last load of the object: kept at best effort
    builds.jsonl, seconds.json, checks.json, seen.json, sources.json     what builds and checks remember: all of
                             them may be deleted

A project's cache is `build/cache`, its rendered sources `build/rendered`. The manifest, format version 4:

    {"digest": of all that follows (cache/sealed.py),
     "version": 4,
     "kernels": {NAME: digest of its record},
     "stale": {NAME: {"T=float32,TILE=32": {TARGET: why a newer artifact could not be made}}}}

A record stays until the build after the one whose index does not name it any more. It says:

       {"doc", "signature": its text, "types": {T: [dtype…]}, "params": {P: [value…]}, "requires": [expression…],
        "tune": [P…], "tuned": {"T=float32": {TARGET: {DEVICE: {SIZE CLASS: {P: value}}}}},   may be left out
        "vendor": {} or {"call": a function of NumPy's and CuPy's, "when" and "on_device": conditions}; left out: {}
        "parameters": [{"name", "dtype", "dims": null | [symbol, number or expression…], "role", "ellipsis",
                        "layout", "fill"}…],           as signature.Parameter; a default may be left out
        "symbols": [dimension symbols in order of first appearance],
        "targets": [declared target…],                 for messages; may be left out
        "specializations": {"T=float32,TILE=32": {
            "types": {T: dtype}, "params": {P: value},
            "aliases": [[written, other]…],            the pairs that may be the same view
            "failed": {TARGET: why the last build of it came to nothing},      may be left out
            "artifacts": {TARGET: {
                "object": digest, "suffix": ".so", "size": bytes, "key": the cache key,
                "meta": {…}                            what the backend needs or the inspection shows
            }}}}}

In a program of the build half a manifest is one dictionary: {"version", "kernels": {NAME: its record}}, in which each
artifact has its "stale", empty if it is current. An archive (cache/archive.py) has that dictionary as one file.

A target is written `cpu:x86-64-v3`, `cpu:native`, `cuda:sm_90`; a build with --bounds makes `cpu:x86-64-v3+bounds`.
For CPU artifacts `meta` has "triple", and for `cpu:native` "features": what it needs of a processor.
"""

from __future__ import annotations

VERSION = 4
READ_SINCE = {4: "0.1.0"}  # format version → the first version of this package that reads it
MANIFEST = "manifest.json"
RECORDS = "records"
OBJECTS = "objects"
KEYS = "keys"
USED = "used"
PROJECT_CACHE = ("build", "cache")
PROJECT_RENDERED = ("build", "rendered")


def object_path(digest: str, suffix: str) -> str:
    """The path of an object relative to its cache or bundle, with forward slashes."""
    return f"{OBJECTS}/{digest[:2]}/{digest}{suffix}"


def record_path(digest: str) -> str:
    """The path of a kernel's record relative to its cache or bundle, with forward slashes."""
    return f"{RECORDS}/{digest}.json"


def record_name(key: str) -> str:
    """Where the store under KEYS keeps what is known of an artifact with this key."""
    return f"key/{key}"
