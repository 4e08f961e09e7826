"""The readers of resume_soak.py move between a leader and two followers at each break, while all three are killed: every event once,
in order, with the same bytes, and every text whole."""

import pathlib
import runpy
import sys

sys.argv[1:1] = ["--followers", "2"]
runpy.run_path(str(pathlib.Path(__file__).with_name("resume_soak.py")), run_name="__main__")
