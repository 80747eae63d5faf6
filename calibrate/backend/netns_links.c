#include "calibrate/backend/netns_links.h"

#include "calibrate/backend/netns_cluster.h"
#include "calibrate/backend/spawn.h"
#include "sim/base/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_S 20.0 /* for one `ip` or `tc`, which take milliseconds */

/* Runs in the new process. */
static bool enter_net(const void *data, GError **error)
{
  const pid_t *pid = data;
  return netns_enter(*pid, "net", error);
}

/* @p line: words parted by blanks; none of ours contains any. */
static bool run_in(pid_t holder, const char *line, GError **error)
{
  g_auto(GStrv) words = g_strsplit(line, " ", -1);
  const Spawn spawn = { .argv = (const char *const *)words,
                        .limit_s = LIMIT_S,
                        .prepare = enter_net,
                        .data = &holder };

  if (spawn_run(&spawn, NULL, error))
    return true;
  if (error != NULL) /* whatever it was, this machine cannot */
    (*error)->code = SIM_ERROR_DEVICE;
  return false;
}

G_GNUC_PRINTF(3, 4)
static bool run(pid_t holder, GError **error, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_autofree char *line = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return run_in(holder, line, error);
}

bool netns_links_bridge(pid_t bridge, GError **error)
{
  return run(bridge, error, "ip link add br0 type bridge stp_state 0 mcast_snooping 0") &&
         run(bridge, error, "ip link set br0 up");
}

/* A frame to the shaper must be a frame on the wire: nobody joins segments. */
static bool offloads_off(const char *device, GError **error)
{
  static const guint32 offloads[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
  const int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool done = file >= 0;

  for (guint i = 0; done && i < G_N_ELEMENTS(offloads); i++) {
    struct ethtool_value off = { .cmd = offloads[i] };
    struct ifreq request = { .ifr_data = (char *)&off };
    g_strlcpy(request.ifr_name, device, sizeof request.ifr_name);
    done = ioctl(file, SIOCETHTOOL, &request) == 0;
  }
  if (!done)
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE,
                "%s: cannot turn segmentation offload off: %s", device, g_strerror(errno));
  if (file >= 0)
    close(file);
  return done;
}

static bool write_setting(const char *path, const char *value, GError **error)
{
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool done =
    file >= 0 && write(file, value, strlen(value)) == (ssize_t)strlen(value);

  if (!done)
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE, "%s: %s", path, g_strerror(errno));
  if (file >= 0)
    close(file);
  return done;
}

/* What needs no program, but a process in the namespace. */
typedef struct {
  pid_t holder;
  const char *device; /* whose offloads go off */
  bool is_host;
} Tune;

static bool tune(const void *data, GError **error)
{
  const Tune *task = data;

  return netns_enter(task->holder, "net", error) && offloads_off(task->device, error) &&
         (!task->is_host ||
          (write_setting("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0", error) &&
           write_setting("/proc/sys/net/ipv4/tcp_no_metrics_save", "1", error)));
}

static bool run_tune(const Tune *task, GError **error)
{
  const Spawn spawn = { .limit_s = LIMIT_S, .prepare = tune, .data = task };

  if (spawn_run(&spawn, NULL, error))
    return true;
  if (error != NULL)
    (*error)->code = SIM_ERROR_DEVICE;
  return false;
}

static bool shape(const NetnsLinks *links, pid_t holder, const char *device, GError **error)
{
  return run(holder, error, "tc qdisc add dev %s root tbf rate %.0fbit burst %d limit %d",
             device, 8 * links->rate_Bps, NETNS_BURST_B, NETNS_QUEUE_B);
}

bool netns_links_cable(const NetnsLinks *links, pid_t bridge, pid_t holder, guint host,
                       GError **error)
{
  g_autofree char *port = g_strdup_printf("p%u", host);

  return run(bridge, error,
             "ip link add %s mtu %u type veth peer name eth0 netns %d mtu %u", port,
             links->mtu_B, (int)holder, links->mtu_B) &&
         run(bridge, error, "ip link set %s master br0 up", port) &&
         run_tune(&(Tune){ bridge, port, false }, error) &&
         run_tune(&(Tune){ holder, "eth0", true }, error) &&
         shape(links, bridge, port, error) && shape(links, holder, "eth0", error);
}

/* Locally administered addresses, by host. */
static char *link_address(guint host)
{
  return g_strdup_printf("02:00:00:00:00:%02x", 16 + host);
}

static bool introduce(const NetnsLinks *links, pid_t holder, guint host, GError **error)
{
  for (guint other = 0; other < links->n; other++) {
    g_autofree char *address = netns_address_text(other);
    g_autofree char *link = link_address(other);
    if (other != host &&
        !run(holder, error, "ip neigh replace %s lladdr %s dev eth0 nud permanent", address,
             link))
      return false;
  }
  return true;
}

bool netns_links_host(const NetnsLinks *links, pid_t holder, guint host, GError **error)
{
  g_autofree char *address = netns_address_text(host);
  g_autofree char *link = link_address(host);

  return run(holder, error, "ip link set lo up") &&
         run(holder, error, "ip link set eth0 address %s", link) &&
         run(holder, error, "ip addr add %s/24 dev eth0", address) &&
         run(holder, error, "ip link set eth0 up") &&
         run(holder, error,
             "ip route replace 198.18.0.0/24 dev eth0 proto kernel scope link src %s "
             "congctl lock cubic",
             address) &&
         introduce(links, holder, host, error);
}
