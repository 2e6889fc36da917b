"""Likelihoods of the Gibbs sampler: what makes the model's value x conditionally normal given the data.

Each function draws the likelihood's own parameter, numbers[1], and latent variables given x (nnz,), and leaves working
data z ~ N(x, 1 / w), (nnz,) each. It returns minus log likelihood. All have one signature, and the sweeps call them by
address: only those that are used are compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tensorfill.kernels._numba import addressed, inner
from tensorfill.kernels._polyagamma import polya_gamma
from tensorfill.kernels.base import Array

STRIDES = (0.02, 0.1, 0.5)  # standard deviations of the Metropolis steps of the logarithm of the dispersion
WIDE = 2.5  # root 2 pi: of a wider interval around 0, normals fall into it more often than a uniform is accepted
EXPONENT = 50.0  # largest exponent of a mean, so that it stays finite


class Data(NamedTuple):
    """The data of one likelihood: y (nnz,), weights (nnz,) or none (0,), and its settings.

    `degrees` of freedom of Student's t, 0 for normal noise; `trials` of a binomial; `level`, which is added to x; the
    different counts and the sum of the weights of each; of ordered levels 0, 1, ... the cuts between them, in `counts`;
    `slices` (nnz,), the slice that each is in, where slices have noise of their own, or none (0,).
    """

    y: Array
    weights: Array
    degrees: float
    trials: float
    level: float
    counts: Array
    often: Array
    slices: Array


class Hyper(NamedTuple):
    """Parameters of the priors: of the ridge, of the sizes' precisions, of the noise, of the log dispersion."""

    shape: float = 1.0  # Gamma prior of the ridge; data are standardised
    rate: float = 1.0
    effect_shape: float = 0.5  # Gamma priors of the ridge of a main effect, and of the rate of that one
    effect_rate: float = 1.0
    local: float = 0.5  # Gamma priors of the precision of each size, and of the scale that all of these share
    global_shape: float = 0.5
    global_rate: float = 1.0
    noise_shape: float = 1.0  # Gamma prior of the noise precision
    noise_rate: float = 0.1
    own: float = 2.0  # Gamma prior, of mean 1, of the precision of the noise of a slice relative to that of all
    dispersion: float = math.log(10.0)  # mean and standard deviation of the logarithm of the dispersion
    dispersion_sd: float = 1.0


@addressed
def draw_noise(
    data: Data, hyper: Hyper, x: Array, numbers: Array, z: Array, w: Array, rng: np.random.Generator
) -> float:
    """y = x + noise / sqrt(weight), its precision drawn; of Student's t every entry's own precision, too. Where slices
    have noise of their own, numbers[2:] are their precisions relative to that of all.
    """
    weighted, nu, slices = len(data.weights) > 0, data.degrees, len(numbers) - 2
    student = nu > 0
    noise, squares, loss = numbers[1], 0.0, 0.0
    energy, often = np.empty(slices), np.empty(slices)
    for g in range(slices):
        energy[g] = often[g] = 0
    for i in range(len(x)):
        z[i] = data.y[i]
        own = numbers[2 + data.slices[i]] if slices > 0 else 1.0
        w[i] = own * (data.weights[i] if weighted else 1.0)
        off = w[i] * (z[i] - x[i]) ** 2
        if student:
            loss += 0.5 * ((nu + 1) * math.log1p(noise * off / nu) - math.log(own))
            scale = rng.standard_gamma(0.5 * (nu + 1)) / (0.5 * (nu + noise * off))
            w[i] *= scale
            off *= scale
        elif slices > 0:
            loss -= 0.5 * math.log(own)
        squares += off
        if slices > 0:
            energy[data.slices[i]] += off / own
            often[data.slices[i]] += 1
    before, noise = noise, rng.standard_gamma(hyper.noise_shape + 0.5 * len(x)) / (hyper.noise_rate + 0.5 * squares)
    for g in range(slices):
        energy[g] = rng.standard_gamma(hyper.own + 0.5 * often[g]) / (hyper.own + 0.5 * noise * energy[g])
    for i in range(len(x)):
        w[i] *= noise
        if slices > 0:
            w[i] *= energy[data.slices[i]] / numbers[2 + data.slices[i]]
    numbers[1] = noise
    for g in range(slices):
        numbers[2 + g] = energy[g]
    if student:
        return loss - 0.5 * len(x) * math.log(before)
    return loss + 0.5 * (noise * squares - len(x) * math.log(noise))


@addressed
def draw_ordinal(
    data: Data, hyper: Hyper, x: Array, numbers: Array, z: Array, w: Array, rng: np.random.Generator
) -> float:
    """y = the number of cuts below a hidden z = x + noise / sqrt(weight), which is drawn, as is the noise's precision
    (Albert and Chib 1993).
    """
    cuts, weighted, noise, squares, loss = data.counts, len(data.weights) > 0, numbers[1], 0.0, 0.0
    for i in range(len(x)):
        w[i] = data.weights[i] if weighted else 1.0
        root, level = math.sqrt(noise * w[i]), int(data.y[i])
        low = root * (cuts[level - 1] - x[i]) if level > 0 else -math.inf
        high = root * (cuts[level] - x[i]) if level < len(cuts) else math.inf
        if low + high < 0:  # mirrored, so that the interval is above or around 0
            off = -_between(-high, -low, rng)
            share = math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2))
        else:
            off = _between(low, high, rng)
            share = math.erfc(low / math.sqrt(2)) - math.erfc(high / math.sqrt(2))
        loss -= math.log(max(0.5 * share, 1e-300))
        z[i] = x[i] + off / root
        squares += w[i] * (z[i] - x[i]) ** 2
    noise = rng.standard_gamma(hyper.noise_shape + 0.5 * len(x)) / (hyper.noise_rate + 0.5 * squares)
    for i in range(len(x)):
        w[i] *= noise
    numbers[1] = noise
    return loss


@inner
def _between(a: float, b: float, rng: np.random.Generator) -> float:
    """A standard normal between a < b, a + b >= 0, by rejection (Robert 1995): of normals, of a uniform where the
    density changes little, of an exponential far out.
    """
    if a <= 0 and b - a > WIDE:
        while True:
            u = rng.standard_normal()
            if a <= u <= b:
                return u
    top = max(a, 0.0)
    if b * b - top * top < WIDE**2:
        while True:
            u = a + (b - a) * rng.random()
            if rng.random() <= math.exp(0.5 * (top * top - u * u)):
                return u
    rate = 0.5 * (a + math.sqrt(a * a + 4))
    while True:
        u = a + rng.standard_exponential() / rate
        if u <= b and rng.random() <= math.exp(-0.5 * (u - rate) ** 2):
            return u


@addressed
def draw_binomial(
    data: Data, hyper: Hyper, x: Array, numbers: Array, z: Array, w: Array, rng: np.random.Generator
) -> float:
    """y ~ Binomial(trials, logit level + x). Proportions count as parts of a yes."""
    loss, trials = 0.0, data.trials
    for i in range(len(x)):
        weight = data.weights[i] if len(data.weights) > 0 else 1.0
        value = x[i] + data.level
        loss += weight * (trials * (max(value, 0.0) + math.log1p(math.exp(-abs(value)))) - data.y[i] * value)
        w[i] = polya_gamma(trials * weight, value, rng)
        z[i] = weight * (data.y[i] - 0.5 * trials) / w[i] - data.level
    return loss


@addressed
def draw_counts(
    data: Data, hyper: Hyper, x: Array, numbers: Array, z: Array, w: Array, rng: np.random.Generator
) -> float:
    """Counts y of mean e^(level + x) and variance mean + mean^2 / r, the dispersion r drawn.

    The dispersion moves by Metropolis steps with the mean held; then Polya-Gamma variables make x normal.
    """
    r, pull = numbers[1], 0.0
    for i in range(len(x)):
        z[i] = math.exp(min(x[i] + data.level, EXPONENT))  # the mean, for now
        pull += (data.weights[i] if len(data.weights) > 0 else 1.0) * data.y[i] * x[i]
    now = _log_likelihood(data, z, r)
    loss = -now - pull
    now += _log_prior(hyper, r)
    for step in STRIDES:
        new = r * math.exp(step * rng.standard_normal())
        then = _log_likelihood(data, z, new) + _log_prior(hyper, new)
        if math.log(rng.random() + 1e-300) < then - now:
            r, now = new, then
    shift = data.level - math.log(r)
    for i in range(len(x)):
        weight = data.weights[i] if len(data.weights) > 0 else 1.0
        w[i] = polya_gamma(weight * (data.y[i] + r), x[i] + shift, rng)
        z[i] = weight * 0.5 * (data.y[i] - r) / w[i] - shift
    numbers[1] = r
    return loss


@inner
def _log_likelihood(data: Data, mean: Array, r: float) -> float:
    """Without y ln(mean) and what does not depend on r."""
    out = 0.0
    for j in range(len(data.counts)):
        out += data.often[j] * (math.lgamma(data.counts[j] + r) - math.lgamma(r) + r * math.log(r))
    for i in range(len(mean)):
        weight = data.weights[i] if len(data.weights) > 0 else 1.0
        out -= weight * (data.y[i] + r) * math.log(r + mean[i])
    return out


@inner
def _log_prior(hyper: Hyper, r: float) -> float:
    """Of the dispersion, as a density of its logarithm."""
    return -0.5 * ((math.log(r) - hyper.dispersion) / hyper.dispersion_sd) ** 2
