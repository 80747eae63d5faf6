/**
 * @file mpi_collectives.c
 * @brief All-reduce algorithms in plain MPI messages, for smpirun to time.
 *
 * Usage: mpi_collectives SIZE... (bytes). Prints "ALGORITHM SIZE SECONDS" per line.
 *
 * Every algorithm is a list of steps, spelt out in MPI_Isend and MPI_Irecv, so that none of
 * the MPI library's own choices count: in a step a rank sends, and receives. In the ring
 * receives are posted ahead and sends waited for in the end, so that a message leaves as
 * soon as its rank has what it waits for; elsewhere both ranks of a message enter its step
 * before it leaves (MPI_Sendrecv). The buffer is shared by all ranks and nobody adds
 * anything: what counts is who sends how much to whom after what.
 *
 * Sources: ring: Patarasuk & Yuan 2009. binomial, recursive doubling, halving-doubling: R.
 * Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
 * in MPICH", IJHPCA 19 (2005) 49-66, including its step for other than powers of two.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Every call starts when all ranks have slept to the next multiple of this [s]. */
#define PERIOD_S 1000

#define NOBODY (-1)
#define MAX_STEPS 1024

typedef struct {
  int to, from; /* ranks, or NOBODY */
  long out_B, in_B;
} Step;

typedef struct {
  int rank, n;
  long size_B;
  char *out, *in;
  Step steps[MAX_STEPS];
  int n_steps;
} Call;

static void add(Call *call, int to, long out_B, int from, long in_B)
{
  if (call->n_steps == MAX_STEPS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  call->steps[call->n_steps++] = (Step){ to, from, out_B, in_B };
}

static void exchange(Call *call, int peer, long size_B)
{
  add(call, peer, size_B, peer, size_B);
}

static void send_to(Call *call, int to, long size_B)
{
  add(call, to, size_B, NOBODY, 0);
}

static void receive(Call *call, int from, long size_B)
{
  add(call, NOBODY, 0, from, size_B);
}

static void post_receive(const Call *call, const Step *step, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  if (step->from != NOBODY)
    MPI_Irecv(call->in, (int)step->in_B, MPI_BYTE, step->from, 0, MPI_COMM_WORLD, request);
}

static void post_send(const Call *call, const Step *step, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  if (step->to != NOBODY)
    MPI_Isend(call->out, (int)step->out_B, MPI_BYTE, step->to, 0, MPI_COMM_WORLD, request);
}

/* One step after the other, at both ends. */
static void run_in_step(const Call *call)
{
  for (int i = 0; i < call->n_steps; i++) {
    MPI_Request requests[2];
    post_receive(call, &call->steps[i], &requests[0]);
    post_send(call, &call->steps[i], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

/* A step begins when the one before has received. */
static void run_ahead(const Call *call)
{
  MPI_Request sends[MAX_STEPS], receives[MAX_STEPS];

  for (int i = 0; i < call->n_steps; i++)
    post_receive(call, &call->steps[i], &receives[i]);
  for (int i = 0; i < call->n_steps; i++) {
    post_send(call, &call->steps[i], &sends[i]);
    MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
  }
  MPI_Waitall(call->n_steps, sends, MPI_STATUSES_IGNORE);
}

/* Where part @p index of @p n begins. */
static long part_begin_B(const Call *call, int index)
{
  return call->size_B * index / call->n;
}

static long part_B(const Call *call, int index)
{
  return part_begin_B(call, index + 1) - part_begin_B(call, index);
}

static void ring(Call *call)
{
  const int n = call->n, right = (call->rank + 1) % n, left = (call->rank + n - 1) % n;

  for (int round = 0; round < 2 * (n - 1); round++) {
    const int part = (call->rank + 2 * n - round) % n;
    add(call, right, part_B(call, part), left, part_B(call, (part + n - 1) % n));
  }
}

/* Reduce to rank 0 and broadcast from there. */
static void binomial(Call *call)
{
  int mask = 1;

  for (; mask < call->n && !(call->rank & mask); mask <<= 1)
    if (call->rank + mask < call->n)
      receive(call, call->rank + mask, call->size_B);
  if (call->rank != 0) {
    send_to(call, call->rank - mask, call->size_B);
    receive(call, call->rank - mask, call->size_B);
  }
  for (mask >>= 1; mask > 0; mask >>= 1)
    if (call->rank + mask < call->n)
      send_to(call, call->rank + mask, call->size_B);
}

static int largest_power(int n)
{
  int power = 1;
  while (2 * power <= n)
    power *= 2;
  return power;
}

/* Of 2 r ranks beyond a power of two, the odd ones take over from the even ones. */
static int enter_power(Call *call, int rest)
{
  if (call->rank >= 2 * rest)
    return call->rank - rest;
  if (call->rank % 2 == 0) {
    send_to(call, call->rank + 1, call->size_B);
    return -1;
  }
  receive(call, call->rank - 1, call->size_B);
  return call->rank / 2;
}

static void leave_power(Call *call, int rest)
{
  if (call->rank >= 2 * rest)
    return;
  if (call->rank % 2 == 0)
    receive(call, call->rank + 1, call->size_B);
  else
    send_to(call, call->rank - 1, call->size_B);
}

static int rank_in_world(int place, int rest)
{
  return place < rest ? 2 * place + 1 : place + rest;
}

static void recursive_doubling(Call *call)
{
  const int power = largest_power(call->n), rest = call->n - power;
  const int place = enter_power(call, rest);

  for (int mask = 1; place >= 0 && mask < power; mask <<= 1) {
    const int peer = rank_in_world(place ^ mask, rest);
    exchange(call, peer, call->size_B);
  }
  leave_power(call, rest);
}

static void halving_doubling(Call *call)
{
  const int power = largest_power(call->n), rest = call->n - power;
  const int place = enter_power(call, rest);
  long part_size_B = call->size_B;

  for (int mask = 1; place >= 0 && mask < power; mask <<= 1) {
    const int peer = rank_in_world(place ^ mask, rest);
    part_size_B /= 2;
    exchange(call, peer, part_size_B);
  }
  for (int mask = power >> 1; place >= 0 && mask > 0; mask >>= 1) {
    const int peer = rank_in_world(place ^ mask, rest);
    exchange(call, peer, part_size_B);
    part_size_B *= 2;
  }
  leave_power(call, rest);
}

static const struct {
  const char *name;
  void (*plan)(Call *call);
  void (*run)(const Call *call);
} algorithms[] = {
  { "ring", ring, run_ahead },
  { "binomial", binomial, run_in_step },
  { "recursive_doubling", recursive_doubling, run_in_step },
  { "halving_doubling", halving_doubling, run_in_step },
};

/* From the moment at which all begin until the last has ended. */
static double time_one(const Call *call, void (*run)(const Call *call))
{
  const double begin_s = (floor(MPI_Wtime() / PERIOD_S) + 1) * PERIOD_S;
  const double wait_s = begin_s - MPI_Wtime();
  const struct timespec wait = { .tv_sec = (time_t)wait_s,
                                 .tv_nsec = lround(1e9 * fmod(wait_s, 1)) };
  double spent_s, longest_s;

  nanosleep(&wait, NULL);
  run(call);
  spent_s = MPI_Wtime() - begin_s;
  MPI_Reduce(&spent_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return longest_s;
}

int main(int argc, char **argv)
{
  Call call = { 0 };

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &call.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.n);
  for (int i = 1; i < argc; i++) {
    call.size_B = atol(argv[i]);
    call.out = SMPI_SHARED_MALLOC((size_t)call.size_B);
    call.in = SMPI_SHARED_MALLOC((size_t)call.size_B);
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
      call.n_steps = 0;
      algorithms[a].plan(&call);
      const double time_s = time_one(&call, algorithms[a].run);
      if (call.rank == 0)
        printf("%s %ld %.12g\n", algorithms[a].name, call.size_B, time_s);
    }
    SMPI_SHARED_FREE(call.out);
    SMPI_SHARED_FREE(call.in);
  }
  MPI_Finalize();
  return 0;
}
