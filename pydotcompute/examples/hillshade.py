"""Shaded relief of a real elevation model, the Jacksboro fault in Tennessee, which comes with matplotlib.

    python -m pydotcompute.examples.hillshade [--azimuth 315] [--altitude 45] [-o hillshade.png]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from . import fail, run

METRES_A_DEGREE = 111_320.0  # along a meridian; along a parallel, times the cosine of the latitude


def elevation_model() -> tuple[np.ndarray, float, float]:
    """Elevations in metres as float32[row, column] from north to south, and the size of a cell in metres: dx, dy."""
    from matplotlib import cbook

    data: Any = cbook.get_sample_data("jacksboro_fault_dem.npz")  # several arrays, by their names
    with data as model:
        latitude = np.radians((model["ymin"] + model["ymax"]) / 2)
        dx = float(model["dx"]) * METRES_A_DEGREE * np.cos(latitude)
        return model["elevation"].astype(np.float32), float(dx), float(model["dy"]) * METRES_A_DEGREE


def main(arguments: list[str] | None = None) -> int:
    program, what = "python -m pydotcompute.examples.hillshade", (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog=program, description=what)
    parser.add_argument("--azimuth", type=float, default=315.0, help="of the light, in degrees clockwise from north")
    parser.add_argument("--altitude", type=float, default=45.0, help="of the light, in degrees above the horizon")
    parser.add_argument("-o", "--output", default="hillshade.png", help="the picture to write, as PNG")
    options = parser.parse_args(arguments)
    return run(lambda: relief(options))


def relief(options: argparse.Namespace) -> int:
    """Shade the model, write the picture, and print how long it took."""
    try:
        elevation, dx, dy = elevation_model()
    except ImportError:
        from pydotcompute.artifact.remedies import install

        return fail(f"The elevation model comes with matplotlib: {install('examples', 'matplotlib')}")

    from pydotcompute.kernels import hillshade

    started = time.perf_counter()
    shade = hillshade(elevation, dx, dy, options.azimuth, options.altitude)
    elapsed = time.perf_counter() - started

    from matplotlib import image

    image.imsave(options.output, shade, cmap="gray", vmin=0.0, vmax=1.0, format="png")
    rows, columns = shade.shape
    print(f"{rows} x {columns} cells of {dx:.0f} x {dy:.0f} m, {elevation.min():.0f} to {elevation.max():.0f} m high")
    print(f"shaded in {1e3 * elapsed:.1f} ms, the loading of the kernel included; written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
