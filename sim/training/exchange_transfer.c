/**
 * @file exchange_transfer.c
 * @brief What a profile measured on other numbers of nodes, beside what the model says of
 *        them.
 */
#include "sim/training/exchange_state.h"

/* NULL if the network cannot have so many nodes. */
static Exchange *on_shape(const Setup *setup, const CalibrationCurve *curve)
{
  Setup other = *setup;
  g_autoptr(GArray) none = calibration_new();
  const ExchangeNeeds needs = { .kinds = curve->kind };
  g_autoptr(GError) error = NULL;

  other.curves = none;
  other.cluster = transfer_cluster(&setup->cluster, curve);
  Exchange *exchange = exchange_new(&other, &needs, &error);
  if (exchange != NULL)
    exchange->curves = NULL; /* they end with this function */
  return exchange;
}

static void add_points(const Exchange *shape, const CalibrationCurve *curve, GArray *points)
{
  const GArray *measured = curve->knots;

  for (guint i = 0; i < measured->len; i++) {
    const CalibrationKnot *knot = &g_array_index(measured, CalibrationKnot, i);
    const LibraryChoice choice = exchange_choose(shape, curve->kind, knot->size_B);
    const TransferPoint point = {
      .collective = choice.collective,
      .protocol = choice.protocol,
      .n_nodes = curve->n_nodes,
      .part_B = transfer_part_B(choice.collective, knot->size_B, curve->n_ranks),
      .model_s = exchange_idle_s(shape, curve->kind, knot->size_B),
      .measured_s = knot->time_s,
    };
    if (point.model_s > 0)
      g_array_append_val(points, point);
  }
}

GArray *exchange_transfers(const Exchange *exchange, const Setup *setup, const Kind *kind)
{
  GArray *points = g_array_new(FALSE, FALSE, sizeof(TransferPoint));
  const LibraryCall *call = &kind->library_call;
  const bool is_measured = calibration_find(exchange->curves, call->kind, call->n_nodes,
                                            call->n_nodes * call->ranks_per_node) != NULL;

  if (is_measured || call->n_nodes < 2 || cluster_n_kinds(&setup->cluster) > 1)
    return points;
  for (guint i = 0; i < exchange->curves->len; i++) {
    const CalibrationCurve *curve = &g_array_index(exchange->curves, CalibrationCurve, i);
    if (!transfer_tells(curve, kind->call.kind, call->n_nodes, call->ranks_per_node))
      continue;
    g_autoptr(Exchange) shape = on_shape(setup, curve);
    if (shape != NULL)
      add_points(shape, curve, points);
  }
  return points;
}

double exchange_wanted_s(const Exchange *exchange, const Kind *kind,
                         const LibraryChoice *choice, double size_B, double model_s)
{
  const LibraryCall *call = &kind->library_call;
  const guint n_ranks = call->n_nodes * call->ranks_per_node;
  const CalibrationCurve *curve =
    calibration_find(exchange->curves, call->kind, call->n_nodes, n_ranks);
  const TransferPoint wanted = {
    .collective = choice->collective,
    .protocol = choice->protocol,
    .n_nodes = call->n_nodes,
    .part_B = transfer_part_B(choice->collective, size_B, n_ranks),
    .model_s = model_s,
  };

  if (curve != NULL)
    return calibration_time_s(curve, size_B);
  if (kind->transfers == NULL || kind->transfers->len == 0 || !(model_s > 0))
    return 0;
  return transfer_time_s(kind->transfers, &wanted);
}
