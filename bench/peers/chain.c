/*
 * The chain by hand: implicit midpoint, tridiagonal Newton, discrete adjoint. What one would write in C
 * for this model and no other, with the convergence test of lib/newton: solve, correct, solve once more
 * with the factor at hand, and let that last correction say how far the root still is.
 *
 * Unknown of a step is v1. With v = (v0 + v1)/2, q = q0 + h v/2, d_i = q_i − q_{i−1} and springs
 * s = k(d + d³/2):  R(v1) = v1 − v0 − h F(q, v),  F_i = s_{i+1} − s_i − c v_i + g,  q1 = q0 + h v.
 * ∂R/∂v1 = (1 + hc/2) I + h²/4 DᵀK'D is symmetric positive definite: LDLᵀ without pivoting.
 *
 * Speaks the protocol of contestant.ts on standard input and output.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double h = 0.01, drag = 0.1, gravity = 1.0, stiffness = 1e4;
static const double absolute = 1e-12, relative = 1e-12, margin = 0.01;
enum { STEPS = 200, MAX_ITERATIONS = 50 };

static int n;
static long iterations;
static double *k, *q0, *v0, *v1, *d, *residual, *slope, *lower, *reciprocal, *delta, *next, *base, *record, *gradient, *toQ, *toV, *w;

static double *array(size_t count) {
  double *values = calloc(count, sizeof *values);
  if (values == NULL) exit(1);
  return values;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static void stretch(void) {
  double before = 0;
  for (int i = 0; i < n; i++) {
    const double q = q0[i] + 0.25 * h * (v0[i] + v1[i]);
    d[i] = q - before;
    before = q;
  }
}

static void evaluate_residual(void) {
  stretch();
  double s = k[0] * d[0] * (1 + 0.5 * d[0] * d[0]);
  for (int i = 0; i < n; i++) {
    const double right = i + 1 < n ? k[i + 1] * d[i + 1] * (1 + 0.5 * d[i + 1] * d[i + 1]) : 0;
    residual[i] = v1[i] - v0[i] - h * (right - s - drag * 0.5 * (v0[i] + v1[i]) + gravity);
    s = right;
  }
}

/* The Jacobian at d, factored: `lower` are the multipliers. */
static void factor(void) {
  const double c = 0.25 * h * h;
  for (int i = 0; i < n; i++) slope[i] = c * k[i] * (1 + 1.5 * d[i] * d[i]);
  double r = 0, off = 0;
  for (int i = 0; i < n; i++) {
    const double right = i + 1 < n ? slope[i + 1] : 0;
    const double diagonal = 1 + 0.5 * h * drag + slope[i] + right;
    lower[i] = off * r;
    r = 1 / (diagonal - off * off * r);
    reciprocal[i] = r;
    off = -right;
  }
}

static void solve(const double *b, double *x) {
  double y = 0;
  for (int i = 0; i < n; i++) x[i] = y = b[i] - lower[i] * y;
  x[n - 1] = y = x[n - 1] * reciprocal[n - 1];
  for (int i = n - 2; i >= 0; i--) x[i] = y = x[i] * reciprocal[i] - lower[i + 1] * y;
}

/* In units of the tolerance. */
static double size(const double *x) {
  double largest = 0;
  for (int i = 0; i < n; i++) {
    const double a = fabs(v1[i]), b = fabs(base[i]);
    const double ratio = fabs(x[i]) / (absolute + relative * (a > b ? a : b));
    if (ratio > largest) largest = ratio;
  }
  return largest;
}

static void newton(void) {
  memcpy(v1, v0, n * sizeof *v1);
  evaluate_residual();
  for (int i = 0; i < MAX_ITERATIONS; i++) {
    factor();
    solve(residual, delta);
    iterations++;
    memcpy(base, v1, n * sizeof *v1);
    for (int j = 0; j < n; j++) v1[j] -= delta[j];
    evaluate_residual();
    solve(residual, next);
    const double whole = size(delta), left = size(next), rate = left > 0 ? left / whole : 0;
    if (2 * rate * left <= margin) {
      for (int j = 0; j < n; j++) v1[j] -= next[j];
      return;
    }
  }
  fprintf(stderr, "chain.c: Newton's method did not converge\n");
  exit(1);
}

static double forward(int keep) {
  memset(q0, 0, n * sizeof *q0);
  memset(v0, 0, n * sizeof *v0);
  iterations = 0;
  for (int step = 0; step < STEPS; step++) {
    newton();
    if (keep) {
      stretch();
      memcpy(record + (size_t)step * n, d, n * sizeof *d);
    }
    for (int i = 0; i < n; i++) {
      q0[i] += 0.5 * h * (v0[i] + v1[i]);
      v0[i] = v1[i];
    }
  }
  double loss = 0;
  for (int i = 0; i < n; i++) loss += q0[i] * q0[i] + v0[i] * v0[i];
  return loss;
}

/* Jᵀw = λv + h/2 λq at every step, from the last to the first; J is symmetric. */
static double with_gradient(void) {
  const double loss = forward(1);
  memset(gradient, 0, n * sizeof *gradient);
  for (int i = 0; i < n; i++) {
    toQ[i] = 2 * q0[i];
    toV[i] = 2 * v0[i];
  }
  for (int step = STEPS - 1; step >= 0; step--) {
    memcpy(d, record + (size_t)step * n, n * sizeof *d);
    factor();
    for (int i = 0; i < n; i++) residual[i] = toV[i] + 0.5 * h * toQ[i];
    solve(residual, w);
    /* slope is h²/4 k': h DᵀK'D w = 4/h Dᵀ slope D w. */
    double before = 0, flux = 0;
    for (int i = 0; i <= n; i++) {
      double rate = 0;
      if (i < n) {
        rate = w[i] - before;
        gradient[i] -= h * rate * d[i] * (1 + 0.5 * d[i] * d[i]);
        rate *= slope[i];
      }
      if (i > 0) {
        const double stiff = flux - rate; /* h²/4 (DᵀK'D w)_{i−1} */
        const double x = toQ[i - 1];
        toQ[i - 1] = x - 4 / h * stiff;
        toV[i - 1] = 0.5 * h * x + before - stiff - 0.5 * h * drag * before;
      }
      before = i < n ? w[i] : 0;
      flux = rate;
    }
  }
  return loss;
}

static void prepare(int count) {
  n = count;
  double **arrays[] = {&k, &q0, &v0, &v1, &d, &residual, &slope, &lower, &reciprocal, &delta, &next, &base, &gradient, &toQ, &toV, &w};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(*arrays[i]);
    *arrays[i] = array(n);
  }
  free(record);
  record = array((size_t)STEPS * n);
  for (int i = 0; i < n; i++) k[i] = stiffness;
  const double begin = milliseconds();
  const double loss = with_gradient();
  double square = 0;
  for (int i = 0; i < n; i++) square += gradient[i] * gradient[i];
  printf("{\"loss\": %.15g, \"gradientNorm\": %.15g, \"first\": %.6g, \"iterations\": %ld}\n", loss, sqrt(square), milliseconds() - begin, iterations);
}

int main(void) {
  char line[256], what[32], workload[32];
  int count;
  volatile double sink;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "prepare %31s %d", workload, &count) == 2) {
      if (strcmp(workload, "chain") == 0) prepare(count);
      else printf("{\"skip\": \"written for the chain alone\"}\n");
    } else if (sscanf(line, "%31s %d", what, &count) == 2) {
      printf("[");
      for (int i = 0; i < count; i++) {
        const double begin = milliseconds();
        sink = what[0] == 'f' ? forward(0) : with_gradient();
        printf("%s%.6g", i > 0 ? ", " : "", milliseconds() - begin);
      }
      printf("]\n");
    } else break;
    fflush(stdout);
  }
  (void)sink;
  return 0;
}
