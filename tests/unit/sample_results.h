/**
 * @file sample_results.h
 * @brief Results made by hand, so that tests of writers need no simulation.
 *
 * The figures are round and consistent with one another; nobody forecast them.
 */
#pragma once

#include "models/result.h"
#include "models/topology.h"

static inline void sample_link(Result *result, guint tier, guint n_links, double mean,
                               double peak)
{
  const LinkUse use = { .tier = tier, .n_links = n_links, .mean = mean, .peak = peak };
  g_array_append_val(result->links, use);
}

static inline void sample_constant(Result *result, const char *name, const char *value,
                                   const char *source, bool assumed)
{
  const Constant constant = { (char *)name, (char *)value, (char *)source, assumed };
  result_add_constant(result, &constant);
}

/* 200 nodes of 8 GPUs that compute for @p compute_s of @p iteration_s and communicate for
 * @p busy_s. */
static inline Result *sample_result(const char *name, const char *strategy,
                                    double iteration_s, double compute_s, double busy_s)
{
  Result *result = result_new();

  result->name = g_strdup(name);
  result->engine = g_strdup("folded, SimGrid 3.32");
  result->model = g_strdup("resnet50");
  result->gpu = g_strdup("v100_sxm2_16gb");
  result->strategy = g_strdup(strategy);
  result->library = g_strdup("nccl");
  result->compute_source = g_strdup("scenario: 370 samples/s");
  result->algorithm = g_strdup("ring/simple");
  result->bottleneck = g_strdup("nic");
  result->n_nodes = 200;
  result->n_gpus = 1600;
  result->n_parameters = 25557032;
  result->batch_per_gpu = 64;
  result->gradient_B = 4.0 * 25557032;
  result->iteration_time_s = iteration_s;
  result->throughput_per_gpu_samples_per_s = 64 / iteration_s;
  result->throughput_samples_per_s = 1600 * 64 / iteration_s;
  result->compute_time_s = compute_s;
  result->comm_busy_share = busy_s / iteration_s;
  result->comm_exposed_share = (iteration_s - compute_s) / iteration_s;
  result->gpu_utilisation = compute_s / iteration_s;
  result->scaling_efficiency = compute_s / iteration_s;
  result->max_batch_per_gpu = 96;
  result->memory_used_B = 11.5 * 0x1p30;
  result->memory_capacity_B = 16 * 0x1p30;
  result->latency_p50_s = 0.04;
  result->latency_p95_s = 0.0625;
  result->latency_p99_s = 0.075;
  result->units_per_iteration = 3;
  result->floor_s = 0.0651;
  return result;
}

static inline void sample_details(Result *result)
{
  sample_link(result, TIER_NVLINK, 3200, 0.03125, 0.125);
  sample_link(result, TIER_NIC, 400, 0.5, 0.984375);
  result_add_stage(result, "negotiate", 0.0025);
  result_add_stage(result, "copy_in", 0.00125);
  result_add_stage(result, "all_reduce", 0.125);
  sample_constant(result, "cluster.nic.rate", "25 Gbit/s", "demo.json:7", false);
  sample_constant(result, "cluster.network.latency", "1.5 us",
                  "--set cluster.network.latency=1.5 us", false);
  sample_constant(result, "workload.compute.samples_per_s", "370", "demo.json:12", false);
  sample_constant(result, "strategy.fusion_threshold", "128 MiB",
                  "default: horovod 0.28.1 operations.cc", false);
  sample_constant(result, "cluster.node.gpu.memory_bandwidth", "900 GB/s",
                  "NVIDIA V100 data sheet, 2018", false);
  sample_constant(result, "strategy.control_latency", "20 us", "assumed: kernel TCP", true);
}

/* One iteration from 1 s on: forward, backward in layers, three messages. */
static inline void sample_timeline(Result *result)
{
  static const char *const layers[] = { "conv1", "layer1", "layer2", "layer3", "fc" };
  static const double sent_s[][2] = { { 1.075, 1.11 }, { 1.11, 1.16 }, { 1.165, 1.21 } };
  const double end_s = 1 + result->iteration_time_s;

  result_add_track(result, "compute");
  result_add_track(result, "negotiation");
  result_add_track(result, "nccl stream");
  result_add_span(result, 0, "optimizer", 0.99, 1);
  for (guint i = 0; i < 10; i++) {
    const guint layer = i < 5 ? i : 9 - i;
    const double at_s = i < 5 ? 1 + 0.01 * i : 1.05 + 0.02 * (i - 5);
    g_autofree char *name =
      g_strdup_printf("%s %s", i < 5 ? "forward" : "backward", layers[layer]);
    result_add_span(result, 0, name, at_s, at_s + (i < 5 ? 0.01 : 0.02));
  }
  result_add_span(result, 0, "optimizer", end_s - 0.01, end_s);
  for (guint i = 0; i < G_N_ELEMENTS(sent_s); i++) {
    const LinkSpan nic = { TIER_NIC, sent_s[i][0] + 0.002, sent_s[i][1], 0.96875 };
    const LinkSpan nvlink = { TIER_NVLINK, sent_s[i][0] + 0.002, sent_s[i][1], 0.0625 };
    result_add_span(result, 1, "negotiate 32.5 MiB, 54 tensors", sent_s[i][0] - 0.003,
                    sent_s[i][0]);
    result_add_span(result, 2, "all_reduce 32.5 MiB, 54 tensors", sent_s[i][0],
                    sent_s[i][1]);
    g_array_append_val(result->link_spans, nic);
    g_array_append_val(result->link_spans, nvlink);
  }
  result->last_start_s = 1;
  result->last_end_s = end_s;
}

static inline Result *sample_horovod(void)
{
  Result *result = sample_result("demo-horovod", "horovod", 0.22, 0.16, 0.13);

  sample_details(result);
  sample_timeline(result);
  return result;
}

static inline Result *sample_ddp(void)
{
  Result *result = sample_result("demo-ddp", "ddp", 0.2, 0.16, 0.125);

  sample_details(result);
  sample_timeline(result);
  result->replicas = 5;
  result->iteration_time_half_s = 0.00125;
  result->throughput_half_samples_per_s = 3200;
  return result;
}

static inline Result *sample_no_overlap(void)
{
  Result *result = sample_result("demo-none", "none", 0.28, 0.16, 0.12);

  sample_details(result);
  sample_timeline(result);
  return result;
}

/* One GPU: no communication, and so no algorithm, links or stages. */
static inline Result *sample_one_gpu(void)
{
  Result *result = sample_result("one-gpu", "none", 0.16, 0.16, 0);

  result->n_nodes = result->n_gpus = 1;
  result->throughput_samples_per_s = result->throughput_per_gpu_samples_per_s;
  g_clear_pointer(&result->algorithm, g_free);
  g_clear_pointer(&result->bottleneck, g_free);
  result->floor_s = result->units_per_iteration = 0;
  result->latency_p50_s = result->latency_p95_s = result->latency_p99_s = 0;
  return result;
}
