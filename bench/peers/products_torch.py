"""The products of bench/products.ts with PyTorch on one thread: GFLOP/s by width, and the gradient of four layers of 512."""
import math
import sys
import time

import torch

torch.set_num_threads(1)
turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5


def least(run):
    """Least processor seconds of a run, over turns of 0.2 s."""
    best = math.inf
    for i in range(turns + 1):
        begin, start, runs = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < 0.2 or runs < 2:
            run()
            runs += 1
        if i > 0:
            best = min(best, (time.process_time() - start) / runs)
    return best


for name, dtype in (("double", torch.float64), ("single", torch.float32)):
    for n in (64, 256, 512, 1024):
        a = torch.sin(torch.arange(n * n, dtype=dtype)).reshape(n, n)
        c = torch.empty_like(a)
        print(name, n, f"{2 * n ** 3 / least(lambda: torch.mm(a, a, out=c)) / 1e9:.1f} GFLOP/s")
    x = torch.sin(torch.arange(512 * 512, dtype=dtype)).reshape(512, 512) / math.sqrt(512)
    leaves = [x.clone().requires_grad_() for _ in range(5)]

    def gradient():
        y = leaves[0]
        for i, weight in enumerate(leaves[1:]):
            y = (y if i == 0 else torch.tanh(y)) @ weight
        torch.autograd.grad(y.sum(), leaves)

    taken = least(gradient)
    print(f"gradient of 4 x 512, batch 512, {name}: {1000 * taken:.1f} ms, {3 * 4 * 2 * 512 ** 3 / taken / 1e9:.1f} GFLOP/s")
