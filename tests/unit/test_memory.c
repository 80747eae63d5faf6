/**
 * @file test_memory.c
 * @brief What fits into a GPU, against worked examples.
 */
#include "models/library.h"
#include "models/memory.h"
#include "tests/unit/catalogue_read.h"

#include <math.h>

#define MIB_B (1024.0 * 1024.0)
#define GIB_B (1024.0 * MIB_B)

static const GpuSpec v100 = { .name = (char *)"v100_sxm2_16gb",
                              .memory_B = 16160ull << 20,
                              .memory_Bps = 900e9,
                              .fp32_flops = 15.7e12,
                              .fp16_flops = 125e12,
                              .bf16_flops =
                                1, /* not so, but the test wants every precision */
                              .tf32_flops = 1,
                              .n_sms = 80 };

static MemoryUse use_of(const Model *model, Precision precision, Optimizer optimizer,
                        double communication_B)
{
  const WorkloadSpec spec = { .batch_per_gpu = 8,
                              .precision = precision,
                              .optimizer = optimizer };
  const ComputeSpec compute = { .samples_per_s = 1 };
  g_autoptr(Workload) workload = workload_new(model, &spec, &compute, &v100, NULL);

  CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
  return memory_use(workload, &v100, communication_B);
}

/* (15.7 - 1.2 - 0.29 - 0.13 to 0.5 GiB) / 81.9 MiB: about 170 images. */
static void test_resnet50_in_fp32_fits_about_170_images_into_a_v100(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  const MemoryUse small = use_of(model, PRECISION_FP32, OPTIMIZER_MOMENTUM, 0.13 * GIB_B);
  const MemoryUse large = use_of(model, PRECISION_FP32, OPTIMIZER_MOMENTUM, 0.5 * GIB_B);

  CU_ASSERT_DOUBLE_EQUAL((small.weights_B + small.gradients_B + small.optimizer_B) / GIB_B,
                         0.29, 0.005);
  CU_ASSERT(memory_max_batch(&small) > 170 && memory_max_batch(&small) < 180);
  CU_ASSERT(memory_max_batch(&large) > 165 && memory_max_batch(&large) < 175);
}

/* 128 MiB of fusion buffer cost 1.6 images of ResNet-50 and 37 of AlexNet. */
static void test_communication_buffers_cost_images(void)
{
  static const struct {
    const char *name;
    double images;
  } rows[] = { { "resnet50", 1.6 }, { "alexnet", 37 } };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Model) model = read_model(rows[i].name, 0);
    const MemoryUse use = use_of(model, PRECISION_FP32, OPTIMIZER_MOMENTUM, 128 * MIB_B);
    CU_ASSERT_DOUBLE_EQUAL(use.communication_B / use.activations_per_sample_B,
                           rows[i].images, 0.03 * rows[i].images);
  }
}

static void test_mixed_precision_halves_activations(void)
{
  g_autoptr(Model) model = read_model("resnet50", 0);
  const MemoryUse fp32 = use_of(model, PRECISION_FP32, OPTIMIZER_MOMENTUM, 0);
  const MemoryUse amp = use_of(model, PRECISION_AMP, OPTIMIZER_MOMENTUM, 0);
  const double share = amp.activations_per_sample_B / fp32.activations_per_sample_B;

  CU_ASSERT(share > 0.5 && share < 0.52); /* the indices of pooling stay as they are */
}

/* 12 bytes per parameter for fp32 momentum, 16 for Adam in fp32 or mixed (2 + 2 + 12). */
static void test_states_take_the_published_bytes_per_parameter(void)
{
  static const struct {
    Precision precision;
    Optimizer optimizer;
    double bytes;
  } rows[] = {
    { PRECISION_FP32, OPTIMIZER_SGD, 8 },   { PRECISION_FP32, OPTIMIZER_MOMENTUM, 12 },
    { PRECISION_TF32, OPTIMIZER_ADAM, 16 }, { PRECISION_FP16, OPTIMIZER_ADAM, 16 },
    { PRECISION_BF16, OPTIMIZER_ADAM, 16 }, { PRECISION_AMP, OPTIMIZER_ADAM, 18 },
  };
  g_autoptr(Model) model = read_model("resnet18", 0);
  const double n = (double)model_n_parameters(model);

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const MemoryUse use = use_of(model, rows[i].precision, rows[i].optimizer, 0);
    CU_ASSERT_DOUBLE_EQUAL((use.weights_B + use.gradients_B + use.optimizer_B) / n,
                           rows[i].bytes, 1e-9);
  }
}

static void test_the_largest_batch_is_the_last_that_fits(void)
{
  g_autoptr(Model) model = read_model("vgg16", 0);
  const MemoryUse use = use_of(model, PRECISION_FP32, OPTIMIZER_ADAM, 0);
  const guint batch = memory_max_batch(&use);

  CU_ASSERT(batch > 1);
  CU_ASSERT(memory_total_B(&use, batch) <= use.capacity_B);
  CU_ASSERT(memory_total_B(&use, batch + 1) > use.capacity_B);
}

static void test_what_does_not_fit_has_no_batch(void)
{
  g_autoptr(Model) model = read_model("gpt2_xl", 0);
  const MemoryUse adam = use_of(model, PRECISION_FP32, OPTIMIZER_ADAM, 0);

  CU_ASSERT_EQUAL(memory_max_batch(&adam), 0); /* 1.56e9 x 16 B are 23 GiB */
}

static void test_unknown_activations_bound_nothing(void)
{
  g_autoptr(Model) model = bind_text(
    "{\"name\": \"bare\", \"layers\": [{\"name\": \"a\", \"values\": 9}]}", 0, NULL);
  const MemoryUse use = use_of(model, PRECISION_FP32, OPTIMIZER_SGD, 0);

  CU_ASSERT_EQUAL(memory_max_batch(&use), WORKLOAD_MAX_BATCH);
}

/* 12 channels found in an NVSwitch box of A100, doubled; 4 MiB of Simple, 0.5 MiB of LL and
 * 4.6875 MiB of LL128 for a ring's one sender, and for three more of a tree. */
static void test_nccl_holds_buffers_for_each_channel_and_sender(void)
{
  const double sender_B = (4 + 0.5 + 4.6875) * MIB_B;
  g_autofree void *params = g_malloc0(library_nccl.info.params_size);
  LibraryCall call = { .kind = COLL_ALL_REDUCE,
                       .n_nodes = 1,
                       .ranks_per_node = 8,
                       .nvlink = true,
                       .architecture = GPU_AMPERE,
                       .n_nics = 8,
                       .local_Bps = 230e9,
                       .node_Bps = 8 * 25e9 };

  param_set_defaults(library_nccl.info.params, params);
  CU_ASSERT_DOUBLE_EQUAL(library_nccl.buffers_B(params, &call), 24 * sender_B, 1);
  call.n_nodes = 2;
  const double several_B = library_nccl.buffers_B(params, &call);
  CU_ASSERT_DOUBLE_EQUAL(several_B / sender_B / 4, round(several_B / sender_B / 4), 1e-9);
  param_set(param_find(library_nccl.info.params, "algo"), params, "ring", NULL);
  CU_ASSERT_DOUBLE_EQUAL(library_nccl.buffers_B(params, &call), several_B / 4, 1);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("memory", NULL, NULL);
  CU_ADD_TEST(suite, test_resnet50_in_fp32_fits_about_170_images_into_a_v100);
  CU_ADD_TEST(suite, test_communication_buffers_cost_images);
  CU_ADD_TEST(suite, test_mixed_precision_halves_activations);
  CU_ADD_TEST(suite, test_states_take_the_published_bytes_per_parameter);
  CU_ADD_TEST(suite, test_the_largest_batch_is_the_last_that_fits);
  CU_ADD_TEST(suite, test_what_does_not_fit_has_no_batch);
  CU_ADD_TEST(suite, test_unknown_activations_bound_nothing);
  CU_ADD_TEST(suite, test_nccl_holds_buffers_for_each_channel_and_sender);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
