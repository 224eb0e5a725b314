"""Shows where the latency tail of flash storage comes from, and cuts it.

    >>> import tailcut
    >>> run = tailcut.run(set={"run.requests": 100_000})
    >>> run.percentile_ns(99.9, "read")
    >>> run.plot()                          # latency by percentile, coloured by cause
    >>> run.waits.to_pandas()               # what the slow ones waited for

What there is:

- :func:`run`: one scenario, simulated; the result is a :class:`Run`;
- :func:`compare`: every combination of settings, on all cores or over a Dask cluster; a :class:`Comparison`;
- :func:`studies` and :func:`study`: tables and figures of papers, measured again, on all cores or over a Dask
  cluster; a :class:`StudyResult`;
- :func:`calibrate`: a drive fitted to measurements, likewise; a :class:`Calibration`;
- :func:`trace`: a recorded trace; a :class:`Trace`;
- :class:`Disk`: a disk with a simulated drive inside, and its faults, for tests of databases;
- :func:`keys`, :func:`presets` and :func:`resolved`: what a scenario can say.

Tables (:class:`Table`) go to pandas, polars and Arrow without being copied. Latencies and moments are in ns
of virtual time, sizes in bytes, sectors have 512 bytes. What goes wrong is a :class:`TailcutError`; a
:class:`ScenarioError` is one that names the place of wrong input and what would be right there.
"""

from ._calibrate import Calibration, calibrate
from ._comparison import Comparison, compare
from ._run import Run, resolved, run
from ._scenario import keys, presets
from ._study import StudyResult, StudyTitle, studies, study
from ._table import Table
from ._tailcut import Completion, Disk, ScenarioError, TailcutError, __version__
from ._trace import Trace, trace

__all__ = [
    "Calibration",
    "Comparison",
    "Completion",
    "Disk",
    "Run",
    "ScenarioError",
    "StudyResult",
    "StudyTitle",
    "Table",
    "TailcutError",
    "Trace",
    "__version__",
    "calibrate",
    "compare",
    "keys",
    "presets",
    "resolved",
    "run",
    "studies",
    "study",
    "trace",
]
