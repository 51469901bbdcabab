"""
Training by MMD
===============

A small network learns to draw from a ring, with MMD as its loss. Then a test that it was not trained on
says how well.
"""

import matplotlib.pyplot as plt
import torch

import tellapart as ta

g = torch.Generator().manual_seed(0)
torch.manual_seed(0)


def ring(n):
    """Points on a noisy circle."""
    angle = 2 * torch.pi * torch.rand(n, generator=g)
    radius = 1 + 0.08 * torch.randn(n, generator=g)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


generator = torch.nn.Sequential(
    torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)
)
loss = ta.losses.MMDLoss(ta.kernels.Mixture([0.05, 0.2, 0.5, 1.0]).requires_grad_(False))
optimiser = torch.optim.Adam(generator.parameters(), 0.005)
history = []
for _ in range(400):
    optimiser.zero_grad()
    value = loss(generator(torch.randn(256, 2, generator=g)), ring(256))
    value.backward()
    optimiser.step()
    history.append(value.item())

with torch.no_grad():
    made = generator(torch.randn(500, 2, generator=g))
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].plot(history)
axes[0].set_title("MMD² of batches")
axes[1].plot(*ring(500).T, ".", markersize=2, label="data")
axes[1].plot(*made.T, ".", markersize=2, label="generator")
axes[1].set_aspect("equal")
axes[1].legend()
plt.show()

result = ta.two_sample_test(ring(500), made, rng=0)
print(f"told apart: p = {result.pvalue:.3g}")
