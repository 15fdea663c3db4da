"""The parent's side: an environment for each peer, and jobs in child processes inside it."""

import json
import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

HERE = Path(__file__).parent

# What pip installs, in this order. adapt alone, without tensorflow: see run_adapt.py.
INSTALLS = {
    "densratio": [["densratio"]],
    "skada": [["skada"]],
    "adapt": [["--no-deps", "adapt"], ["numpy", "scipy", "scikit-learn", "cvxopt"]],
}
THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM")
MEMORY = 16 * 1024**3

_VERSIONS = """
import importlib.metadata, json
found = {d.name: d.version for d in importlib.metadata.distributions()}
print(json.dumps({name: found[name] for name in sorted(found, key=str.lower)}))
"""
_numbers = count()


class Package:
    """A package under test: its interpreter, and why there is none where that is so."""

    def __init__(self, name, folder):
        self.name, self.problem = name, None
        self.python = Path(sys.executable)
        if name != "ours":
            self.python = folder / name / "bin" / "python"
            self._install(folder / name)

    def _install(self, environment):
        if self.python.exists():
            return
        pip = [self.python, "-m", "pip", "install", "--quiet"]
        commands = [[sys.executable, "-m", "venv", environment]]
        commands += [[*pip, *packages] for packages in INSTALLS[self.name]]
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                self.problem = f"not installed: {_last_line(done.stderr)}"
                shutil.rmtree(environment, ignore_errors=True)  # half of one would pass for whole
                return

    def versions(self):
        """Versions of everything that is installed beside a peer."""
        if self.problem:
            return {"problem": self.problem}
        done = subprocess.run([self.python, "-c", _VERSIONS], capture_output=True, check=True)
        return json.loads(done.stdout)

    def run(self, folder, method, files, **job):
        """Run a job; return one result for each file, whatever happens.

        A file that ends the process gets the reason as its error, and a new process goes on with
        the next one.
        """
        job = {"task": "weigh", "settings": {}, "repeats": 1, "timeout": 900, **job}
        job |= {"method": method, "memory": MEMORY}
        results = []
        while len(results) < len(files):
            waiting = [str(file) for file in files[len(results) :]]
            if self.problem:
                return results + [{"error": self.problem}] * len(waiting)
            lines, ending = self._one_process(folder, {**job, "files": waiting})
            if not lines and "Error" in ending:  # it cannot even start
                return results + [{"error": ending}] * len(waiting)
            results += lines
            if len(lines) < len(waiting):
                results.append({"error": ending})
        return results

    def _one_process(self, folder, job):
        number = next(_numbers)
        result, path = folder / f"{number}.jsonl", folder / f"{number}.json"
        result.touch()
        path.write_text(json.dumps({**job, "result": str(result)}))
        command = [self.python, HERE / f"run_{self.name}.py", path]
        limit = len(job["files"]) * (job["timeout"] + 5) + 60
        one = {f"{name}_THREADS": "1" for name in THREADS}
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **one, "PYTHONWARNINGS": "ignore"},
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
            ending = _last_line(done.stderr) or f"process ended with code {done.returncode}"
        except subprocess.TimeoutExpired:
            ending = f"timed out at {limit} s"
        return [json.loads(line) for line in result.read_text().splitlines()], ending


def _last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else ""
