#include "sim/engine/shares.h"

#include "sim/engine/bounds.h"

#include <math.h>

/* Rates of links that saturate together differ by rounding only. */
static const double same_level = 1e-13;

/* Not one class of a company: all. */
#define WHOLE G_MAXUINT32

/* Who is under a bound. */
typedef struct {
  Company *company;
  guint32 index; /* of the class in it, or WHOLE */
} Member;

typedef struct {
  GArray *members; /* of Member; those that have ended leave with their company */
  double n_flows;  /* that move */
} Row;

/* A bound in a solution. */
typedef struct {
  double left_Bps;  /* that nobody has yet */
  double n_waiting; /* flows without a rate yet */
} Level;

struct Shares {
  const Network *network;
  Bounds *bounds;
  GPtrArray *companies; /* of Company */
  Row *rows;            /* of each bound */
  Level *levels;        /* of each bound, and of none */
  guint32 *waiting;     /* bounds that flows without a rate are under */
  double *tight_Bps;    /* of each of them: what a flow gets there */
  guint n_waiting;
  guint next_cap; /* the lowest that nobody has met */
};

Shares *shares_new(const Network *network)
{
  Shares *shares = g_new0(Shares, 1);
  Bounds *bounds = bounds_new(network);

  shares->network = network;
  shares->bounds = bounds;
  shares->companies = g_ptr_array_new();
  shares->rows = g_new0(Row, bounds->n + 1);
  for (guint b = 0; b <= bounds->n; b++)
    shares->rows[b].members = g_array_new(FALSE, FALSE, sizeof(Member));
  shares->levels = g_new0(Level, bounds->n + 1);
  shares->waiting = g_new(guint32, bounds->n + 1);
  shares->tight_Bps = g_new(double, bounds->n + 1);
  return shares;
}

void shares_free(Shares *shares)
{
  if (shares == NULL)
    return;
  for (guint b = 0; b <= shares->bounds->n; b++)
    g_array_unref(shares->rows[b].members);
  bounds_free(shares->bounds);
  g_ptr_array_unref(shares->companies);
  g_free(shares->rows);
  g_free(shares->levels);
  g_free(shares->waiting);
  g_free(shares->tight_Bps);
  g_free(shares);
}

/* ---- who comes and goes ------------------------------------------------------------- */

static guint first_class(const Shares *shares, const Company *company)
{
  return shares->network->first_class[company->set];
}

/* Links that a class does not share with all of its set; Bounds.width of them. */
static const guint32 *own_bounds(const Shares *shares, const Company *company, guint index)
{
  const gsize class = first_class(shares, company) + index;
  return &shares->bounds->of[class * shares->bounds->width];
}

static double flows_of(const Shares *shares, const Company *company, guint index)
{
  return shares->bounds->n_flows[first_class(shares, company) + index];
}

static void add_member(Row *row, Company *company, guint32 index, double n_flows)
{
  const Member member = { .company = company, .index = index };
  g_array_append_val(row->members, member);
  row->n_flows += n_flows;
}

void shares_join(Shares *shares, Company *company)
{
  const Bounds *bounds = shares->bounds;

  company->n_flows = 0;
  for (guint i = 0; i < company->n; i++) {
    const double n_flows = flows_of(shares, company, i);
    const guint32 *own = own_bounds(shares, company, i);
    if (company->rates_Bps[i] == 0)
      continue;
    company->n_flows += n_flows;
    for (guint k = 0; k < bounds->width && own[k] < bounds->n; k++)
      add_member(&shares->rows[own[k]], company, i, n_flows);
  }
  for (guint32 k = bounds->first_common[company->set];
       k < bounds->first_common[company->set + 1]; k++)
    add_member(&shares->rows[bounds->common[k]], company, WHOLE, company->n_flows);
  g_ptr_array_add(shares->companies, company);
}

void shares_end_class(Shares *shares, Company *company, guint index)
{
  const Bounds *bounds = shares->bounds;
  const double n_flows = flows_of(shares, company, index);
  const guint32 *own = own_bounds(shares, company, index);

  company->rates_Bps[index] = 0;
  company->n_flows -= n_flows;
  for (guint k = 0; k < bounds->width && own[k] < bounds->n; k++)
    shares->rows[own[k]].n_flows -= n_flows;
  for (guint32 k = bounds->first_common[company->set];
       k < bounds->first_common[company->set + 1]; k++)
    shares->rows[bounds->common[k]].n_flows -= n_flows;
}

static void drop_members(Row *row, const Company *company)
{
  guint n = 0;

  for (guint i = 0; i < row->members->len; i++) {
    const Member member = g_array_index(row->members, Member, i);
    if (member.company != company)
      g_array_index(row->members, Member, n++) = member;
  }
  g_array_set_size(row->members, n);
}

void shares_leave(Shares *shares, Company *company)
{
  const Bounds *bounds = shares->bounds;

  for (guint i = 0; i < company->n; i++) {
    const guint32 *own = own_bounds(shares, company, i);
    for (guint k = 0; k < bounds->width && own[k] < bounds->n; k++)
      drop_members(&shares->rows[own[k]], company);
  }
  for (guint32 k = bounds->first_common[company->set];
       k < bounds->first_common[company->set + 1]; k++)
    drop_members(&shares->rows[bounds->common[k]], company);
  g_ptr_array_remove(shares->companies, company);
}

/* ---- progressive filling ------------------------------------------------------------ */

/* Nobody has a rate. */
static void begin_filling(Shares *shares)
{
  shares->n_waiting = 0;
  shares->next_cap = 0;
  for (guint b = 0; b < shares->bounds->n; b++) {
    if (!(shares->rows[b].n_flows > 0))
      continue;
    shares->levels[b] = (Level){ .left_Bps = shares->bounds->limit_Bps[b],
                                 .n_waiting = shares->rows[b].n_flows };
    shares->waiting[shares->n_waiting++] = b;
  }
  for (guint c = 0; c < shares->companies->len; c++) {
    Company *company = g_ptr_array_index(shares->companies, c);
    company->n_waiting = company->n_flows;
    for (guint i = 0; i < company->n; i++)
      company->rates_Bps[i] = company->rates_Bps[i] == 0 ? 0 : -1;
  }
}

/* What a flow gets at the tightest bound; bounds that nobody waits for drop out. */
static double find_lowest(Shares *shares)
{
  double lowest_Bps = INFINITY;
  guint n = 0;

  for (guint w = 0; w < shares->n_waiting; w++) {
    const guint32 bound = shares->waiting[w];
    const Level *level = &shares->levels[bound];
    if (!(level->n_waiting > 0))
      continue;
    const double tight_Bps = MAX(0, level->left_Bps) / level->n_waiting;
    shares->waiting[n] = bound;
    shares->tight_Bps[n++] = tight_Bps;
    lowest_Bps = MIN(lowest_Bps, tight_Bps);
  }
  shares->n_waiting = n;
  return lowest_Bps;
}

static inline void take(Level *level, double taken_Bps, double n_flows)
{
  level->left_Bps -= taken_Bps;
  level->n_waiting -= n_flows;
}

/* Give a class its rate, if it waits for one. @return how many flows it has, if it did */
static inline double settle(Shares *shares, Company *company, guint index, double rate_Bps)
{
  const guint32 *own = own_bounds(shares, company, index);
  const double n_flows = flows_of(shares, company, index);

  if (company->rates_Bps[index] >= 0)
    return 0;
  company->rates_Bps[index] = n_flows * rate_Bps;
  for (guint k = 0; k < shares->bounds->width; k++)
    take(&shares->levels[own[k]], n_flows * rate_Bps, n_flows);
  return n_flows;
}

/* The common bounds hear of it later. */
static void note(Company *company, double n_flows, double rate_Bps)
{
  company->n_settled += n_flows;
  company->taken_Bps += n_flows * rate_Bps;
}

static void settle_whole(Shares *shares, Company *company, double rate_Bps)
{
  double n_flows = 0;

  if (company->n_waiting == company->n_settled)
    return;
  for (guint i = 0; i < company->n; i++)
    n_flows += settle(shares, company, i, rate_Bps);
  note(company, n_flows, rate_Bps);
}

static void settle_row(Shares *shares, const Row *row, double rate_Bps)
{
  for (guint m = 0; m < row->members->len; m++) {
    const Member *member = &g_array_index(row->members, Member, m);
    if (member->index == WHOLE)
      settle_whole(shares, member->company, rate_Bps);
    else
      note(member->company, settle(shares, member->company, member->index, rate_Bps),
           rate_Bps);
  }
}

/* Flows whose cap is lower than what any link leaves them have that. */
static void settle_cap(Shares *shares, double cap_Bps)
{
  for (guint c = 0; c < shares->companies->len; c++) {
    Company *company = g_ptr_array_index(shares->companies, c);
    const double *caps_Bps = &shares->bounds->cap_Bps[first_class(shares, company)];
    for (guint i = 0; i < company->n; i++)
      if (caps_Bps[i] == cap_Bps)
        note(company, settle(shares, company, i, cap_Bps), cap_Bps);
  }
}

/* @return flows that still have no rate */
static double tell_common_bounds(Shares *shares)
{
  const Bounds *bounds = shares->bounds;
  double n_left = 0;

  for (guint c = 0; c < shares->companies->len; c++) {
    Company *company = g_ptr_array_index(shares->companies, c);
    const guint32 end = bounds->first_common[company->set + 1];
    for (guint32 k = bounds->first_common[company->set]; company->n_settled > 0 && k < end;
         k++)
      take(&shares->levels[bounds->common[k]], company->taken_Bps, company->n_settled);
    company->n_waiting -= company->n_settled;
    company->taken_Bps = company->n_settled = 0;
    n_left += company->n_waiting;
  }
  return n_left;
}

void shares_solve(Shares *shares)
{
  const Bounds *bounds = shares->bounds;

  begin_filling(shares);
  do {
    const double lowest_Bps = find_lowest(shares);
    if (shares->next_cap < bounds->n_caps &&
        bounds->caps_Bps[shares->next_cap] <= lowest_Bps) {
      settle_cap(shares, bounds->caps_Bps[shares->next_cap++]);
      continue;
    }
    for (guint w = 0; w < shares->n_waiting; w++)
      if (shares->tight_Bps[w] <= lowest_Bps * (1 + same_level))
        settle_row(shares, &shares->rows[shares->waiting[w]], lowest_Bps);
  } while (tell_common_bounds(shares) > 0);
}
