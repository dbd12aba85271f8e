"""The products of bench/products.ts with PyTorch on one thread: GFLOP/s by width, and the gradient of bench/dense.ts.

`serve 64 1` or `serve 32 2`: that gradient for bench/run.ts, with the precision and the number of threads.
"""
import math
import sys
import time

import torch

from protocol import serve

WIDTH, LAYERS = 512, 4


def dense(dtype):
    i = torch.arange(WIDTH * WIDTH, dtype=torch.int64)
    x = (torch.sin((i * i % 10007).double()) / math.sqrt(WIDTH)).to(dtype).reshape(WIDTH, WIDTH)
    leaves = [x.clone().requires_grad_() for _ in range(1 + LAYERS)]

    def loss():
        y = leaves[0]
        for i, weight in enumerate(leaves[1:]):
            y = (y if i == 0 else torch.tanh(y)) @ weight
        return y.sum()

    return leaves, loss


def contestant(workload, n):
    if workload != "dense":
        return "not written for this"
    torch.set_num_threads(int(sys.argv[3]))
    leaves, loss = dense(torch.float64 if sys.argv[2] == "64" else torch.float32)

    def gradient():
        value = loss()
        return value, torch.autograd.grad(value, leaves)

    def answer():
        value, parts = gradient()
        return value.item(), math.sqrt(sum(float(torch.sum(part.double() ** 2)) for part in parts))

    def forward():
        with torch.no_grad():
            loss()

    return forward, gradient, answer, {} if sys.argv[2] == "64" else {"single": True}


def least(run, turns):
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


def measure(turns):
    torch.set_num_threads(1)
    for name, dtype in (("double", torch.float64), ("single", torch.float32)):
        for n in (64, 256, 512, 1024):
            a = torch.sin(torch.arange(n * n, dtype=dtype)).reshape(n, n)
            c = torch.empty_like(a)
            print(name, n, f"{2 * n ** 3 / least(lambda: torch.mm(a, a, out=c), turns) / 1e9:.1f} GFLOP/s")
        leaves, loss = dense(dtype)
        taken = least(lambda: torch.autograd.grad(loss(), leaves), turns)
        print(f"gradient of 4 x 512, batch 512, {name}: {1000 * taken:.1f} ms, {3 * LAYERS * 2 * WIDTH ** 3 / taken / 1e9:.1f} GFLOP/s")


if sys.argv[1:2] == ["serve"]:
    serve(contestant)
else:
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
