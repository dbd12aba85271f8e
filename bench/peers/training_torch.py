"""PyTorch, eager and differentiated by its tape: the rows of bench/training-rows.ts written out. `64` or `32` says the precision.

Tsitouras' pair as its paper and diffrax have it, and step control by the error alone; the hybrid's steps by Newton's method
with its Jacobian from torch.func, and their gradient by the implicit function theorem: one more iteration on the tape.
"""
import sys

from protocol import serve
from training import numbers

try:
    import torch
except ImportError:
    torch = None

# Tsitouras (2011): rows of a, of which the last is b; the error's weights.
A = [
    [0.161],
    [-0.008480655492356989, 0.335480655492357],
    [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
    [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
    [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
]
E = [
    0.0017800110522257714, 0.00081643445965674692, -0.007880878010261996, 0.1447110071732629, -0.58235716545255522,
    0.45808210592918697, -1 / 66,
]


def dense_output(s):
    """Weights of the slopes at the share s of a step."""
    return [
        -1.0530884977290216 * s * (s - 1.3299890189751412) * (s * s - 1.4364028541716351 * s + 0.7139816917074209),
        0.1017 * s**2 * (s**2 - 2.1966568338249754 * s + 1.2949852507374631),
        2.490627285651252793 * s**2 * (s**2 - 2.38535645472061657 * s + 1.57803468208092486),
        -16.54810288924490272 * (s - 1.21712927295533244) * (s - 0.61620406037800089) * s**2,
        47.37952196281928122 * (s - 1.203071208372362603) * (s - 0.658047292653547382) * s**2,
        -34.87065786149660974 * (s - 1.2) * (s - 0.666666666666666667) * s**2,
        2.5 * (s - 1) * (s - 0.6) * s**2,
    ]


def tsit5(f, y, k1, h):
    """One step: its end, and all slopes; the last is the next step's first."""
    slopes = [k1]
    for row in A:
        point = y + h * sum(a * k for a, k in zip(row, slopes))
        slopes.append(f(point))
    return point, slopes


def fixed(f, y, h, steps):
    path, k = [y], f(y)
    for _ in range(steps):
        y, slopes = tsit5(f, y, k, h)
        k = slopes[-1]
        path.append(y)
    return torch.stack(path)


def adaptive(f, y, times, end, given):
    """States at the times. The step's length is a number: no gradient goes through it."""
    h, t, k, path = given["dt"], 0.0, f(y), []
    while t < end:
        # A rest of some roundings is no step.
        h = end - t if t + h > end - 1e-9 * end else h
        after, slopes = tsit5(f, y, k, h)
        with torch.no_grad():
            scale = given["atol"] + given["rtol"] * torch.maximum(y.abs(), after.abs())
            error = (h * sum(e * k for e, k in zip(E, slopes)) / scale).square().mean().sqrt().item()
        factor = min(10.0, max(0.2, 0.9 * error**-0.2)) if error > 0 else 10.0
        if error < 1:
            while len(path) < len(times) and times[len(path)] <= t + h * (1 + 1e-12):
                share = (times[len(path)] - t) / h
                path.append(after if share > 1 - 1e-9 else y + h * sum(w * k for w, k in zip(dense_output(share), slopes)))
            t, y, k = t + h, after, slopes[-1]
            factor = max(1.0, factor)
        h *= factor
        if end - t < 1e-9 * end:
            break
    return torch.stack(path)


def prepare(workload, n):
    if torch is None:
        return "PyTorch is not installed"
    # On two threads products of 32 x 64 take longer, and many times as long where the second processor has other work.
    torch.set_num_threads(1)
    real = torch.float64 if sys.argv[1] == "64" else torch.float32
    given = numbers(workload)
    parameters = []

    def leaf(values):
        parameters.append(torch.tensor(values, dtype=real, requires_grad=True))
        return parameters[-1]

    layers_of = lambda name: [(leaf(w), leaf(b)) for w, b in given[name]]
    constant = lambda values: torch.tensor(values, dtype=real)

    def dense(layers, x, activation=torch.tanh):
        for w, b in layers[:-1]:
            x = activation(torch.addmm(b, x, w))
        w, b = layers[-1]
        return torch.addmm(b, x, w)

    def on_vector(layers, y):
        return dense(layers, y[None])[0]

    def spiral():
        layers, shape = layers_of("layers"), given["shape"]
        times = [k * given["dt"] for k in range(shape[0])]
        slope = lambda y: dense(layers, y, torch.nn.functional.softplus)
        if workload == "spiral":
            run = lambda start: fixed(slope, start, given["dt"], shape[0] - 1)
        else:
            run = lambda start: adaptive(slope, start, times, times[-1], given)
        batches = [constant(values).reshape(shape) for values in given["batches"]]
        return lambda target: torch.mean((run(target[0]) - target) ** 2), batches

    def small_net():
        layers, start = layers_of("layers"), constant(given["start"])
        run = lambda: fixed(lambda y: on_vector(layers, y), start, given["dt"], given["steps"])
        return lambda target: torch.mean((run() - target) ** 2), [constant(given["target"])]

    def latent_ode():
        encoder, field, decoder = (layers_of(name) for name in ("encoder", "field", "decoder"))

        def loss(seen):
            path = adaptive(lambda y: dense(field, y), dense(encoder, seen), given["times"], given["end"], given)
            observed = dense(decoder, path.reshape(-1, path.shape[-1])).reshape(path.shape[:2])
            return torch.mean((observed.T - seen) ** 2)

        return loss, [constant(given["seen"])]

    def hybrid():
        stiffness, layers = leaf(given["stiffness"]), layers_of("layers")
        q0, v0, h, damping = constant(given["start"]["q"]), constant(given["start"]["v"]), given["dt"], given["damping"]
        size, tolerance = len(q0), 1e-10 if real == torch.float64 else 5e-7

        def residual(z, q, v):
            mean = (v + z) / 2
            place = q + h / 2 * mean
            d = place - torch.nn.functional.pad(place[:-1], (1, 0))
            tension = stiffness * d
            force = torch.nn.functional.pad(tension[1:], (0, 1)) - tension + on_vector(layers, torch.cat([place, mean])) - damping * mean
            return z - v - h * force

        jacobian = torch.func.jacrev(residual)

        def loss(target):
            q, v, path = q0, v0, [q0]
            for _ in range(given["steps"]):
                with torch.no_grad():
                    z = v
                    for _ in range(20):
                        change = torch.linalg.solve(jacobian(z, q, v), residual(z, q, v))
                        z = z - change
                        if change.abs().max() <= tolerance * (1 + z.abs().max()):
                            break
                    matrix = jacobian(z, q, v)
                # z is right already: this has its value, and the derivative of the solution.
                after = z - torch.linalg.solve(matrix, residual(z, q, v))
                q, v = q + h / 2 * (v + after), after
                path.append(q)
            return torch.mean((torch.stack(path) - target) ** 2)

        return loss, [constant(given["target"]).reshape(-1, size)]

    def lotka_volterra():
        rates, layers, start = leaf(given["rates"]), layers_of("layers"), constant(given["start"])
        run = lambda: adaptive(lambda y: rates * y + on_vector(layers, y), start, given["times"], given["times"][-1], given)
        return lambda target: torch.mean((run() - target) ** 2), [constant(given["target"])]

    made = {"small-net": small_net, "latent-ode": latent_ode, "hybrid": hybrid, "lotka-volterra": lotka_volterra}
    loss, batches = made.get(workload, spiral)()
    begin = [x.detach().clone() for x in parameters]
    state = dict(count=given["restart"])

    def train():
        if state["count"] == given["restart"]:
            with torch.no_grad():
                for parameter, value in zip(parameters, begin):
                    parameter.copy_(value)
            state.update(count=0, optimizer=torch.optim.Adam(parameters, lr=given["rate"]))
        state["optimizer"].zero_grad()
        value = loss(batches[state["count"] % len(batches)])
        value.backward()
        state["optimizer"].step()
        state["count"] += 1
        return value.item()

    def answer():
        value = train()
        return value, float(torch.sqrt(sum(torch.sum(x.grad.double() ** 2) for x in parameters)))

    def forward():
        with torch.no_grad():
            loss(batches[0])

    details = {"threads": torch.get_num_threads()}
    return forward, train, answer, details if real == torch.float64 else {**details, "single": True}


serve(prepare)
