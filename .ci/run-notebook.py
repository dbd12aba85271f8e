"""
Runs a notebook's cells on Deno's Jupyter kernel and stores their outputs: python run-notebook.py notebook.ipynb done.ipynb.

jupyter nbconvert --execute does the same, but nbconvert 7.17 lost values of one cell in three on Deno 2.9: here the kernel has half a
second after each cell in which more may come.
"""
import json
import sys
import time
from queue import Empty

from jupyter_client.manager import start_new_kernel

GRACE = 0.5
source, target = sys.argv[1:]
with open(source) as file:
    notebook = json.load(file)
manager, client = start_new_kernel(kernel_name="deno")
try:
    for count, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
        sent = client.execute("".join(cell["source"]))
        cell["outputs"], cell["execution_count"] = [], count
        idle = None
        while idle is None or time.monotonic() < idle + GRACE:
            try:
                message = client.get_iopub_msg(timeout=0.1 if idle else 1)
            except Empty:
                continue
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                idle = time.monotonic()
            elif kind in ("stream", "execute_result", "display_data", "error"):
                cell["outputs"].append({"output_type": kind, **content})
            if kind == "error":
                sys.exit(f"{source}, cell {count}: {content['ename']}: {content['evalue']}")
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
with open(target, "w") as file:
    json.dump(notebook, file)
print(f"{source}: {count} cells")
