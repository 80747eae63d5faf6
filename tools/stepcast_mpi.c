/**
 * @file stepcast_mpi.c
 * @brief An MPI program that times MPI_Allreduce.
 *
 * Usage: stepcast-mpi BYTES REPETITIONS
 *
 * Rank 0 prints the version of the library, then a line for each repetition: the time of
 * the slowest rank, in seconds. The sums are checked. Not linked with anything of ours.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WARM_UP_VALUES 1024

static float value_of(int weight, int i)
{
  return (float)(weight * (i % 100));
}

static void fill(float *values, int n, int rank)
{
  for (int i = 0; i < n; i++)
    values[i] = value_of(rank + 1, i);
}

static void check(const float *sum, int n, int n_ranks)
{
  for (int i = 0; i < n; i++)
    if (sum[i] != value_of(n_ranks * (n_ranks + 1) / 2, i)) {
      fprintf(stderr, "the sum of value %d is wrong\n", i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Idle shapers let so many bytes pass at once, which no cable does: empty them before the
 * clock starts, see NETNS_BURST_B. */
#define BURST_B 16000

static void drain_shapers(void)
{
  char out[BURST_B] = { 0 }, in[BURST_B];
  int rank, n;

  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Sendrecv(out, BURST_B, MPI_CHAR, (rank + 1) % n, 0, in, BURST_B, MPI_CHAR,
               (rank + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* All hosts are one machine: its clock is the same for all. */
static double now_s(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* From the moment at which the last rank began: ranks spin, and where they are more than
 * cores, some leave the barrier time slices after others. */
static double time_once(const float *values, float *sum, int n)
{
  double own_s[2], last_s[2] = { 0 };

  MPI_Barrier(MPI_COMM_WORLD);
  drain_shapers();
  MPI_Barrier(MPI_COMM_WORLD);
  own_s[0] = now_s();
  MPI_Allreduce(values, sum, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  own_s[1] = now_s();
  MPI_Reduce(own_s, last_s, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last_s[1] - last_s[0];
}

int main(int argc, char **argv)
{
  int rank, n_ranks, length;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  MPI_Get_library_version(version, &length);
  const int n = argc == 3 ? atoi(argv[1]) / (int)sizeof(float) : 0;
  const int n_times = argc == 3 ? atoi(argv[2]) : 0;
  float *values = malloc(sizeof(float) * (size_t)(n + WARM_UP_VALUES));
  float *sum = malloc(sizeof(float) * (size_t)(n + WARM_UP_VALUES));
  if (n <= 0 || n_times <= 0 || values == NULL || sum == NULL)
    MPI_Abort(MPI_COMM_WORLD, 2);

  fill(values, n + WARM_UP_VALUES, rank);
  time_once(values, sum, WARM_UP_VALUES);
  if (rank == 0)
    printf("%.*s\n", (int)length, version);
  for (int i = 0; i < n_times; i++) {
    const double slowest_s = time_once(values, sum, n);
    check(sum, n, n_ranks);
    if (rank == 0)
      printf("%.9f\n", slowest_s);
  }
  free(values);
  free(sum);
  MPI_Finalize();
  return 0;
}
