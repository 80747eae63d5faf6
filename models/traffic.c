#include "models/traffic.h"

static const OtherJob *job_at(const ClusterSpec *cluster, guint index)
{
  return &g_array_index(cluster->other_jobs, OtherJob, index);
}

static bool shares(const OtherJob *job)
{
  return job->first_node != FAULT_ANY;
}

guint traffic_n_own_machines(const ClusterSpec *cluster)
{
  guint n = 0;

  for (guint i = 0; cluster->other_jobs != NULL && i < cluster->other_jobs->len; i++)
    n += shares(job_at(cluster, i)) ? 0 : job_at(cluster, i)->n_nodes;
  return n;
}

static bool check(const ClusterSpec *cluster, const OtherJob *job, GError **error)
{
  const guint64 end = (guint64)job->first_node + job->n_nodes;

  if (cluster->node.n_nics == 0 || !(cluster->node.nic_rate_Bps > 0)) {
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE,
                        "a job on the same network needs nodes with NICs: give \"nic\": "
                        "{\"count\": 1, \"rate\": \"100 Gbit/s\"}");
    return false;
  }
  if (!shares(job) || end <= cluster->n_nodes)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "there is no node %" G_GUINT64_FORMAT ": %u nodes are numbered from 0 to %u",
              end - 1, cluster->n_nodes, cluster->n_nodes - 1);
  return false;
}

bool traffic_check(const ClusterSpec *cluster, guint *which, GError **error)
{
  for (guint i = 0; cluster->other_jobs != NULL && i < cluster->other_jobs->len; i++) {
    *which = i;
    if (!check(cluster, job_at(cluster, i), error))
      return false;
  }
  return true;
}

/* Number of the first machine of a job. */
static guint first_machine(const Topology *topology, const ClusterSpec *cluster,
                           guint index)
{
  guint first = topology_n_machines(topology) - traffic_n_own_machines(cluster);

  if (shares(job_at(cluster, index)))
    return job_at(cluster, index)->first_node;
  for (guint i = 0; i < index; i++)
    first += shares(job_at(cluster, i)) ? 0 : job_at(cluster, i)->n_nodes;
  return first;
}

CollPhase traffic_phase(const Topology *topology, const ClusterSpec *cluster, guint index)
{
  const guint n = job_at(cluster, index)->n_nodes;
  const guint first = first_machine(topology, cluster, index);
  const guint n_rails = MAX(topology_nics_per_node(topology), 1);
  const double share = 2.0 * (n - 1) / n;
  CollPhase phase = { .name = "other_job",
                      .set = flow_set_new(),
                      .n_net_hops = 2 * (n - 1),
                      .rank_share = share };
  double latency_s = 0;

  for (guint i = 0; i < n; i++)
    for (guint rail = 0; rail < n_rails; rail++)
      latency_s =
        MAX(latency_s, topology_add_host_flow(topology, first + i, first + (i + 1) % n,
                                              rail, share / n_rails, phase.set));
  phase.path_latency_s = 2 * (n - 1) * latency_s;
  phase.bound_s_per_B =
    flow_set_bound_s_per_B(phase.set, topology_links(topology), topology_n_links(topology));
  return phase;
}
