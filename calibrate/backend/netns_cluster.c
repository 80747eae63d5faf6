#include "calibrate/backend/netns_cluster.h"

#include "calibrate/backend/netns_links.h"
#include "sim/base/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_ADDRESS 0xc612000au /* 198.18.0.10 */

/* A process that holds namespaces. */
typedef struct {
  pid_t pid;
  int life; /* our end of a pipe: it goes when this closes */
} Holder;

struct NetnsCluster {
  guint n;
  Holder bridge, hosts[NETNS_MAX_HOSTS];
};

static bool fail(GError **error, const char *what)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE, "cannot make network namespaces: %s: %s",
              what, g_strerror(errno));
  return false;
}

guint32 netns_address(guint host)
{
  return FIRST_ADDRESS + host;
}

char *netns_address_text(guint host)
{
  const guint32 address = netns_address(host);
  return g_strdup_printf("%u.%u.%u.%u", address >> 24, address >> 16 & 255,
                         address >> 8 & 255, address & 255);
}

/* The life of a holder: make the namespaces, say so, wait for the end. */
static void hold(const char *name, int life, int ready, pid_t parent)
{
  char word = 1;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN); /* of a terminal: our parent decides */
  if (getppid() == parent && unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0 &&
      sethostname(name, strlen(name)) == 0)
    word = 0;
  if (write(ready, &word, 1) == 1)
    while (read(life, &word, 1) < 0 && errno == EINTR)
      continue;
  _exit(0);
}

static bool start_holder(Holder *holder, const char *name, GError **error)
{
  const pid_t parent = getpid();
  int life[2], ready[2];
  char word = 1;

  if (pipe2(life, O_CLOEXEC) != 0)
    return fail(error, "pipe");
  if (pipe2(ready, O_CLOEXEC) != 0) {
    close(life[0]);
    close(life[1]);
    return fail(error, "pipe");
  }
  holder->pid = fork();
  if (holder->pid == 0) {
    close(life[1]);
    close(ready[0]);
    hold(name, life[0], ready[1], parent);
  }
  close(life[0]);
  close(ready[1]);
  holder->life = life[1];
  const bool done = holder->pid > 0 && read(ready[0], &word, 1) == 1 && word == 0;
  close(ready[0]);
  return done || fail(error, "unshare");
}

static void end_holder(Holder *holder)
{
  if (holder->pid <= 0)
    return;
  close(holder->life);
  kill(holder->pid, SIGKILL);
  waitpid(holder->pid, NULL, 0);
}

/* Everything the kernel is asked to lay between the holders. */
static bool lay(NetnsCluster *cluster, const NetnsParams *params, GError **error)
{
  const NetnsLinks links = { .rate_Bps = params->rate_Bps,
                             .mtu_B = (guint)params->mtu_B,
                             .n = cluster->n };

  if (!netns_links_bridge(cluster->bridge.pid, error))
    return false;
  for (guint host = 0; host < cluster->n; host++)
    if (!netns_links_cable(&links, cluster->bridge.pid, cluster->hosts[host].pid, host,
                           error) ||
        !netns_links_host(&links, cluster->hosts[host].pid, host, error))
      return false;
  return true;
}

NetnsCluster *netns_cluster_new(const NetnsParams *params, GError **error)
{
  g_autoptr(NetnsCluster) cluster = g_new0(NetnsCluster, 1);

  cluster->n = params->n;
  if (!start_holder(&cluster->bridge, "switch", error))
    return NULL;
  for (guint host = 0; host < params->n; host++) {
    g_autofree char *name = g_strdup_printf("h%u", host);
    if (!start_holder(&cluster->hosts[host], name, error))
      return NULL;
  }
  if (!lay(cluster, params, error))
    return NULL;
  return g_steal_pointer(&cluster);
}

void netns_cluster_free(NetnsCluster *cluster)
{
  for (guint host = 0; host < cluster->n; host++)
    end_holder(&cluster->hosts[host]);
  end_holder(&cluster->bridge);
  g_free(cluster);
}

guint netns_cluster_n(const NetnsCluster *cluster)
{
  return cluster->n;
}

pid_t netns_cluster_pid(const NetnsCluster *cluster, guint host)
{
  return cluster->hosts[host].pid;
}

bool netns_enter(pid_t pid, const char *kind, GError **error)
{
  g_autofree char *path = g_strdup_printf("/proc/%d/ns/%s", (int)pid, kind);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && setns(file, 0) == 0;

  if (!done)
    fail(error, path);
  if (file >= 0)
    close(file);
  return done;
}

bool netns_cluster_enter(const NetnsCluster *cluster, guint host, GError **error)
{
  const pid_t pid = netns_cluster_pid(cluster, host);
  return netns_enter(pid, "net", error) && netns_enter(pid, "uts", error);
}
