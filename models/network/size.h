/**
 * @file size.h
 * @brief What a network can hold, against what a cluster asks of it.
 */
#pragma once

#include "models/network.h"

/** More links than this are refused: they alone would take 1.5 GiB. */
#define NETWORK_MAX_LINKS (1u << 26)

/** Are @p n_links, up and down counted apart, few enough? */
static inline bool network_links_fit(guint64 n_links, GError **error)
{
  if (n_links <= NETWORK_MAX_LINKS)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "a network of %" G_GUINT64_FORMAT " links is too large: at most %u", n_links,
              NETWORK_MAX_LINKS);
  return false;
}
