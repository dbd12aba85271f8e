"""Nonzeros of the factor of a symmetric pattern under reference orderings, as JSON: {name: nonzeros of L with its diagonal}.

    python3 fill.py pattern.bin

The file holds 32-bit integers: n, n + 1 row pointers, the columns. SuperLU comes with scipy; AMD itself is there where
scikit-sparse (CHOLMOD) is installed. All values are made diagonally dominant, so that SuperLU has no reason to exchange
rows, and it is told to keep to the diagonal.
"""
import json
import sys

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

raw = np.fromfile(sys.argv[1], dtype=np.int32)
n = int(raw[0])
pointers, columns = raw[1 : n + 2], raw[n + 2 :]
rows = np.repeat(np.arange(n), np.diff(pointers))
values = np.where(rows == columns, 1.0 + np.diff(pointers)[rows], -1.0)
a = sp.csc_matrix((values, (rows, columns)), shape=(n, n))

found = {}
for name in ["MMD_AT_PLUS_A", "COLAMD"]:
    factor = spl.splu(a, permc_spec=name, diag_pivot_thresh=0.0, options={"SymmetricMode": name != "COLAMD"})
    found[f"SuperLU, {name}"] = int(factor.L.nnz)
try:
    from sksparse.cholmod import cholesky

    found["CHOLMOD, AMD"] = int(cholesky(a, ordering_method="amd", mode="simplicial").L().nnz)
except ImportError:
    pass
print(json.dumps(found))
