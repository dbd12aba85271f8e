"""PyTorch, eager and differentiated by its tape: the neural ODE of bench/spiral.ts by the same steps, in double precision."""
from protocol import serve

try:
    import torch
except ImportError:
    torch = None

from spiral import BATCH, DT, RATE, RESTART, SPIRALS, TIMES, targets, tsit5, weights


def prepare(workload, n):
    if torch is None:
        return "PyTorch is not installed"
    if workload != "spiral" or n != BATCH:
        return "not written for this"
    layers = [tuple(torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in pair) for pair in weights()]
    parameters = [x for pair in layers for x in pair]
    begin = [x.detach().clone() for x in parameters]
    batches = [torch.tensor(targets(i)) for i in range(SPIRALS // BATCH)]
    state = dict(count=RESTART)

    def slope(y):
        for w, b in layers[:-1]:
            y = torch.nn.functional.softplus(y @ w + b)
        w, b = layers[-1]
        return y @ w + b

    def loss(target):
        y = target[0]
        k = slope(y)
        path = [y]
        for _ in range(TIMES - 1):
            y, k = tsit5(slope, y, k, DT)
            path.append(y)
        return torch.mean((torch.stack(path) - target) ** 2)

    def train():
        if state["count"] == RESTART:
            with torch.no_grad():
                for parameter, value in zip(parameters, begin):
                    parameter.copy_(value)
            state.update(count=0, optimizer=torch.optim.Adam(parameters, lr=RATE))
        state["optimizer"].zero_grad()
        value = loss(batches[state["count"] % len(batches)])
        value.backward()
        state["optimizer"].step()
        state["count"] += 1
        return value.item()

    def answer():
        value = train()
        return value, float(torch.sqrt(sum(torch.sum(x.grad**2) for x in parameters)))

    def forward():
        with torch.no_grad():
            loss(batches[0])

    return forward, train, answer, {"threads": torch.get_num_threads()}


serve(prepare)
