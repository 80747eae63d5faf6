#include "models/placement.h"

#include <math.h>

const char *const placement_names[] = {
  [PLACEMENT_IDEAL] = "ideal",
  [PLACEMENT_NAIVE] = "naive",
  [PLACEMENT_DJB2] = "djb2",
  NULL,
};

/* A prime that spreads keys: BytePS and MXNet use the same. */
#define SPREAD 9973

double placement_mixed_share(guint n_nodes, guint n_extra)
{
  const double n = n_nodes, k = n_extra;
  return 2 * k * (n - 1) / (n * n + k * n - 2 * k);
}

static guint64 djb2(guint64 key)
{
  char text[24];
  guint64 hash = 5381;

  g_snprintf(text, sizeof text, "%" G_GUINT64_FORMAT, key);
  for (const char *c = text; *c != '\0'; c++)
    hash = hash * 33 + (guchar)*c;
  return hash;
}

static guint64 hash_key(Placement placement, guint64 key)
{
  return placement == PLACEMENT_NAIVE ? ((key >> 16) + key % 65536) * SPREAD : djb2(key);
}

/* Part of all bytes that one server should take. */
static double target(const ServerParts *parts, guint server)
{
  const guint n_others = parts->n_servers - parts->n_extra;

  if (parts->extra_share < 0)
    return 1.0 / parts->n_servers;
  if (server < parts->n_extra)
    return parts->extra_share / parts->n_extra;
  return n_others > 0 ? (1 - parts->extra_share) / n_others : 0;
}

static guint least_loaded(const ServerParts *parts, const double *load_B, double size_B)
{
  guint best = 0;
  double best_fill = HUGE_VAL;

  for (guint server = 0; server < parts->n_servers; server++) {
    const double part = target(parts, server);
    const double fill = part > 0 ? (load_B[server] + size_B) / part : HUGE_VAL;
    if (fill < best_fill) {
      best = server;
      best_fill = fill;
    }
  }
  return best;
}

/* Hashed: mixed mode draws first whether the key goes to an extra server, by djb2 whatever
 * hash is asked for. */
static guint hashed(Placement placement, const ServerParts *parts, guint64 key)
{
  const guint n_others = parts->n_servers - parts->n_extra;

  if (parts->extra_share < 0 || parts->n_extra == 0 || n_others == 0)
    return (guint)(hash_key(placement, key) % parts->n_servers);
  const guint64 class = djb2(key) % parts->bound;
  return (double)class < parts->extra_share * parts->bound
           ? (guint)(djb2(class) % parts->n_extra)
           : parts->n_extra + (guint)(djb2(class) % n_others);
}

static void add_piece(GArray *pieces, guint gradient, guint server, double size_B)
{
  const Piece piece = { .gradient = gradient, .server = server, .size_B = size_B };
  g_array_append_val(pieces, piece);
}

GArray *placement_partitions(const Workload *workload, double partition_B,
                             Placement placement, const ServerParts *parts)
{
  GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
  g_autofree double *load_B = g_new0(double, parts->n_servers);

  for (guint g = 0; g < workload_n_gradients(workload); g++) {
    const Gradient *gradient = workload_gradient(workload, g);
    double left_B = gradient->size_B;
    for (guint64 i = 0; left_B > 0; i++) {
      const double size_B = MIN(left_B, partition_B);
      const guint64 key = ((guint64)gradient->tensor << 16) + i;
      const guint server = placement == PLACEMENT_IDEAL
                             ? least_loaded(parts, load_B, size_B)
                             : hashed(placement, parts, key);
      load_B[server] += size_B;
      left_B -= size_B;
      add_piece(pieces, g, server, size_B);
    }
  }
  return pieces;
}

GArray *placement_big_arrays(const Workload *workload, double bound_values, guint n_servers)
{
  const double bound_B = bound_values * precision_traits(workload->precision)->gradient_B;
  GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));

  for (guint g = 0; g < workload_n_gradients(workload); g++) {
    const Gradient *gradient = workload_gradient(workload, g);
    if (gradient->size_B < bound_B) {
      add_piece(pieces, g, (guint)((guint64)gradient->tensor * SPREAD % n_servers),
                gradient->size_B);
      continue;
    }
    for (guint server = 0; server < n_servers; server++)
      add_piece(pieces, g, server, gradient->size_B / n_servers);
  }
  return pieces;
}

GArray *placement_slices(const Workload *workload, double slice_values, guint n_servers)
{
  const double slice_B = slice_values * precision_traits(workload->precision)->gradient_B;
  GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
  guint next = 0;

  for (guint g = 0; g < workload_n_gradients(workload); g++) {
    const Gradient *gradient = workload_gradient(workload, g);
    for (double left_B = gradient->size_B; left_B > 0; next++) {
      const double size_B = MIN(left_B, slice_B);
      add_piece(pieces, g, next % n_servers, size_B);
      left_B -= size_B;
    }
  }
  return pieces;
}

double placement_imbalance(const GArray *pieces, guint n_servers)
{
  g_autofree double *load_B = g_new0(double, n_servers);
  double largest_B = 0, sum_B = 0;

  for (guint i = 0; i < pieces->len; i++) {
    const Piece *piece = &g_array_index(pieces, Piece, i);
    load_B[piece->server] += piece->size_B;
    sum_B += piece->size_B;
  }
  for (guint server = 0; server < n_servers; server++)
    largest_B = MAX(largest_B, load_B[server]);
  return sum_B > 0 ? largest_B * n_servers / sum_B : 1;
}
