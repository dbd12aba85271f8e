"""The contestants' side of contestant.ts, in Python, and what the workloads have in common."""
import json
import math
import sys
import time

import numpy as np

H, STEPS, NET_STEPS, DRAG, GRAVITY = 0.01, 200, 10, 0.1, 1.0


def layer(index, inputs, outputs):
    i, j = np.meshgrid(np.arange(inputs), np.arange(outputs), indexing="ij")
    return np.sin(1 + 7 * i + 13 * j + 5 * index) / math.sqrt(inputs)


def mlp_weights(n):
    sizes = [2 * n, 64, 64, n]
    return [layer(i, sizes[i], sizes[i + 1]) for i in range(3)]


def net(rows):
    """Positions of the moving knots and of the two held corners, edges along rows, then columns (held knots last)."""
    held = {0, rows - 1}
    moving = [i for i in range(rows * rows) if i not in held]
    number = {knot: i for i, knot in enumerate(moving + sorted(held))}
    place = lambda knot: [(knot % rows) / (rows - 1), -(knot // rows) / (rows - 1), 0.0]
    edges = [(number[r * rows + c], number[r * rows + c + 1]) for r in range(rows) for c in range(rows - 1)]
    edges += [(number[r * rows + c], number[(r + 1) * rows + c]) for r in range(rows - 1) for c in range(rows)]
    return np.array([place(k) for k in moving]), np.array([place(k) for k in sorted(held)]), np.array(edges)


def say(answer):
    print(json.dumps(answer), flush=True)


def serve(prepare):
    """prepare(workload, n) gives (forward, gradient), gradient() giving (loss, norm), or a sentence; or, where what is
    timed is a step of training, (forward, step, first, details), first() being the first step and giving (loss, norm)."""
    forward = gradient = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "quit":
            break
        if words[0] == "prepare":
            begin = time.perf_counter()
            made = prepare(words[1], int(words[2]))
            if isinstance(made, str):
                say({"skip": made})
                continue
            forward, gradient, *more = made
            first, details = more or (gradient, {})
            loss, norm = first()
            say({"loss": float(loss), "gradientNorm": float(norm), "first": 1e3 * (time.perf_counter() - begin), **details})
        elif words[0] == "processor":
            begin = time.process_time()
            for _ in range(int(words[1])):
                gradient()
            say([1e3 * (time.process_time() - begin) / int(words[1])])
        else:
            work = forward if words[0] == "forward" else gradient
            times = []
            for _ in range(int(words[1])):
                begin = time.perf_counter()
                work()
                times.append(1e3 * (time.perf_counter() - begin))
            say(times)
