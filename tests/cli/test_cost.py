"""'show --cost' and 'bench --subject code': what the loops of machine code consist of, and what launches take."""

import json
from pathlib import Path

import pytest

from pydotcompute.cli import main
from pydotcompute.targets.cpu import instructions as x86, throughput
from pydotcompute.targets.cuda import instructions as sass
from pydotcompute.targets.machine_code import Instruction

KERNELS = """\
version: 1
targets: ["cpu:x86-64-v3"]
kernels:
  poly:
    signature: "(x: T[n], index: int64[n]) -> (out: T[n], last: T)"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          out[i] = 3 * x[i] * x[i] + 1
      s = T(0)
      for k in range(n):
          s = s * x[index[k]] + 1
      last[()] = s
"""
LOOP, CARRIED = 8, 11  # lines of kernels.yaml
ROOT = str(Path(__file__).parents[2])


@pytest.mark.parametrize("line, expected", [
    ("        vmovups (%rdi,%rax,4), %ymm0", Instruction("loads", 32, 0)),
    ("        vmovups %zmm0, 64(%rdi,%rax,4)", Instruction("stores", 0, 64)),
    ("        vfmadd213ps (%rsi), %xmm1, %xmm0", Instruction("fma", 16, 0)),
    ("        vaddss 4(%rsi), %xmm1, %xmm0", Instruction("float arithmetic", 4, 0)),
    ("        addl $1, (%rsi)", Instruction("integers and addresses", 4, 4)),
    ("        cmpq $1, (%rsi)", Instruction("integers and addresses", 8, 0)),
    ("        movq %rax, 8(%rsp)", Instruction("stores")),
    ("        vbroadcastss .LCPI0_0(%rip), %ymm0", Instruction("loads")),
    ("        vpmovzxbd (%rsi), %ymm0", Instruction("conversions", 8, 0)),
    ("        vcvtps2pd (%rsi), %ymm0", Instruction("conversions", 16, 0)),
    ("        vdivps %ymm0, %ymm1, %ymm2", Instruction("special functions")),
    ("        leaq 8(%rsi,%rax), %rdx", Instruction("integers and addresses")),
    ("        jne .LBB0_3", Instruction("branches", jump=".LBB0_3")),
    (".LBB0_3:", None),
])  # fmt: skip
def test_an_instruction_of_x86(line, expected):
    assert x86.decode(line) == expected


@pytest.mark.parametrize("line, expected", [
    ("    0310  LDG.E R29, desc[UR8][R10.64] ;", Instruction("loads", 4, 0)),
    ("    0370  @!P4 LDG.E.128.CONSTANT R24, desc[UR8][R10.64+0x400] ;", Instruction("loads", 16, 0)),
    ("    0380  STG.E.U16 desc[UR8][R6.64], R20 ;", Instruction("stores", 0, 2)),
    ("    0390  LDS.64 R4, [R5] ;", Instruction("loads")),
    ("    03a0  FFMA R1, R2, R3, R4 ;", Instruction("fma")),
    ("    03b0  IMAD.MOV.U32 R1, RZ, RZ, R4 ;", Instruction("moves")),
    ("    03c0  IMAD.WIDE R4, R5, 0x4, R6 ;", Instruction("integers and addresses")),
    ("    03d0  @!P0 BRA `(.L_x_17) ;", Instruction("branches", jump=".L_x_17")),
    ("    03e0  BAR.SYNC.DEFER_BLOCKING 0x0 ;", Instruction("barriers")),
    (".L_x_17:", None),
])  # fmt: skip
def test_an_instruction_of_a_gpu(line, expected):
    assert sass.decode(line) == expected


@pytest.mark.parametrize("code, cycles, bottleneck", [
    ("vaddss (%rdi,%rax,4), %xmm0, %xmm0", 3, "register dependencies"),  # its latency
    ("vdivps %ymm0, %ymm1, %ymm2  # a comment\nvdivps %ymm0, %ymm1, %ymm3", 28, "HWFPDivider"),
])  # fmt: skip
def test_what_llvm_mca_says(code, cycles, bottleneck):
    try:
        throughput.llvm_mca()
    except ImportError as error:
        pytest.skip(str(error))
    found = throughput.throughput([".LBB0_1:", *code.split("\n"), "addq $1, %rax", "jne .LBB0_1"], "haswell")
    assert found == ("haswell", pytest.approx(cycles, rel=0.2), bottleneck)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    return tmp_path


def told(capsys, *command):
    code = main(list(command))
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def cost(project, capsys, *command):
    return json.loads(told(capsys, "show", "poly", *command, "-C", str(project), "--cost", "--json"))["cost"]


@pytest.mark.slow  # the code is compiled
def test_a_loop_of_a_cpu(project, capsys):
    found = cost(project, capsys, "T=float32")
    hot = {loop["line"]: loop for loop in found["loops"] if loop["hot"]}
    loop = hot[LOOP]
    vectors = loop["elements"] // 8
    assert loop["elements"] % 8 == 0 and loop["instructions"]["fma"] == vectors == loop["instructions"]["stores"]
    assert loop["loads"] == loop["stores"] == 4 * loop["elements"]
    assert loop["per_element"] == pytest.approx(sum(loop["instructions"].values()) / loop["elements"])
    tails = [one for one in found["loops"] if one["line"] == LOOP and not one["hot"]]
    assert tails and all(one["elements"] < loop["elements"] for one in tails)
    try:
        throughput.llvm_mca()
    except ImportError as error:
        assert found["notes"] == [str(error)] and "package llvm" in str(error)
    else:
        assert found["notes"] == [] and loop["throughput"]["processor"] == "haswell"
        assert vectors <= loop["throughput"]["cycles"] < 8 * vectors  # one store a cycle
    text = told(capsys, "show", "poly", "-C", str(project), "--cost", "--loop", str(LOOP))
    assert f"{loop['elements']} elements a turn, {loop['per_element']:.3g} an element" in text
    assert f":{CARRIED} " not in text


@pytest.mark.slow
def test_a_loop_of_a_gpu_and_its_launch(project, capsys):
    found = cost(project, capsys, "T=float64", "-t", "cuda:sm_90")
    (loop,) = (loop for loop in found["loops"] if loop["line"] == LOOP and loop["hot"])
    assert loop["instructions"]["fma"] == loop["elements"] == loop["stores"] / 8
    entries = {entry["name"]: entry for entry in found["entries"]}
    text = told(capsys, "show", "poly", "T=float64", "-C", str(project), "-t", "cuda:sm_90")
    for name, entry in entries.items():  # the same as ptxas says
        assert f"{name}, sm_90: {entry['registers']} registers, {entry['shared']} shared" in text
        assert 0 < entry["warps"] <= entry["most_warps"] == 64 and entry["limit"]


@pytest.mark.slow
def test_the_table(project, capsys):
    command = ("bench", "--subject", "code", "-C", str(project), "-t", "cuda:sm_90", "--kernel", "poly", "--json")
    rows = json.loads(told(capsys, *command))["figures"]
    assert [row["specialization"] for row in rows] == ["T=float32", "T=float64"]
    found = cost(project, capsys, "T=float32", "-t", "cuda:sm_90")
    hot = [loop["per_element"] for loop in found["loops"] if loop["hot"]]
    assert rows[0]["loops"] == len(hot)
    assert rows[0]["instructions"] == (None if None in hot else pytest.approx(sum(hot)))
    assert rows[0]["registers"] == max(entry["registers"] for entry in found["entries"])


@pytest.mark.slow
def test_a_driver_that_compiles(project, capsys):
    found = cost(project, capsys, "-t", "opencl:1.2")
    assert found == {"loops": [], "entries": [], "notes": found["notes"]} and "driver" in found["notes"][0]


@pytest.mark.slow
def test_the_products_of_a_tile_and_a_loop_that_calls_functions_with_loops(capsys):
    """What lies in shared memory and registers alone, no byte of an array tells."""

    def hot(kernel):
        text = told(capsys, "show", kernel, "-C", ROOT, "-t", "cuda:sm_90", "--cost", "--json")
        return [loop for loop in json.loads(text)["cost"]["loops"] if loop["hot"]]

    products = max(hot("matmul"), key=lambda loop: loop["instructions"].get("fma", 0))
    assert products["elements"] == products["instructions"]["fma"] and products["per_element"] < 1.2
    (loop,) = hot("hillshade")
    assert loop["elements"] and loop["stores"] == 4 * loop["elements"]
