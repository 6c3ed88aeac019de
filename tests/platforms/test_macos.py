"""Mach-O dylibs for macOS, by their structure: what a loader needs, the signature of each page. They are not executed."""

import hashlib
import struct

import lief
import pytest

from pydotcompute.targets.cpu.compiler import kernel_ir, objects
from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.targets.cpu.lowering import lower
from tests.targets.cpu.compiled import tree_of

pytestmark = pytest.mark.slow
TARGETS = {
    "cpu:aarch64@macos": ("ARM64", [11, 0, 0]), "cpu:aarch64-v8.2@macos": ("ARM64", [11, 0, 0]),
    "cpu:x86-64-v3@macos": ("X86_64", [10, 13, 0]),
}  # fmt: skip
OF_SYSTEM = {
    "_pthread_create", "_pthread_join", "_pthread_self", "_pthread_attr_init", "_pthread_attr_setstacksize",
    "_pthread_attr_destroy", "_clock_gettime", "_memcpy", "_memset", "_memset_pattern16", "_bzero", "___bzero",
    "dyld_stub_binder",
}  # fmt: skip
EMBEDDED, DIRECTORY = 0xFADE0CC0, 0xFADE0C02
AD_HOC = 0x2


@pytest.fixture(scope="module")
def made():
    tree = tree_of("for r in blocks(rows):\n    out[r] = sum(exp(x[r, c]) for c in threads(n))", "(x: T[..., n]) -> (out: T[...])")
    entries = {"macos": entry_ir(tree.parameters, tree.symbols, platform="macos")}
    return dict(objects("f", kernel_ir(lower(tree), "f.py"), list(TARGETS), entries))


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_loader_needs(made, target):
    processor, oldest = TARGETS[target]
    dylib = lief.MachO.parse(list(made[target])).at(0)
    assert dylib.header.cpu_type.name == processor and dylib.header.file_type.name == "DYLIB"
    version = dylib.build_version.minos if dylib.has_build_version else dylib.version_min.version
    assert list(version) == oldest
    own, *others = dylib.libraries
    assert own.name == "@rpath/kernel.dylib" and [o.name for o in others] == ["/usr/lib/libSystem.B.dylib"]
    assert {s.name for s in dylib.imported_symbols} <= OF_SYSTEM
    exports = {s.name for s in dylib.exported_symbols}
    assert {"_run", "_run_unlocked", "_entry", "_serve", "_threads", "_python", "_table"} <= exports
    assert not exports & {"_body", "_share", "_interrupted", "_on_threads"}
    page = 0x4000 if processor == "ARM64" else 0x1000
    for segment in dylib.segments:  # each is mapped on its own, with the rights that it asks for
        assert segment.virtual_address % page == 0 and segment.file_offset % page == 0
        assert not (segment.init_protection & 2 and segment.init_protection & 4)


@pytest.mark.parametrize("target", [target for target in TARGETS if "aarch64" in target])
def test_every_page_is_signed_ad_hoc(made, target):
    """Apple's processors run no page whose hash the signature does not have (xnu's cs_blobs.h)."""
    data = made[target]
    command = lief.MachO.parse(list(data)).at(0).code_signature
    blob = data[command.data_offset :][: command.data_size]
    magic, _, count = struct.unpack_from(">III", blob)
    kind, at = struct.unpack_from(">II", blob, 12)
    assert (magic, kind) == (EMBEDDED, 0) and count >= 1
    directory = blob[at:]
    (magic, _, _, flags, hashes, _, _, slots, limit) = struct.unpack_from(">9I", directory)
    size, method, _, page = struct.unpack_from(">4B", directory, 36)
    assert magic == DIRECTORY and flags & AD_HOC and (size, method) == (32, 2)
    assert limit == command.data_offset and slots == -(-limit >> page)
    for k in range(slots):
        found = hashlib.sha256(data[k << page : min(k + 1 << page, limit)]).digest()
        assert found == directory[hashes + 32 * k :][:32], k


def test_the_same_bytes_each_time(made):
    tree = tree_of("for r in blocks(rows):\n    out[r] = sum(exp(x[r, c]) for c in threads(n))", "(x: T[..., n]) -> (out: T[...])")
    entries = {"macos": entry_ir(tree.parameters, tree.symbols, platform="macos")}
    assert dict(objects("f", kernel_ir(lower(tree), "f.py"), list(TARGETS), entries)) == made
