/**
 * @file mesh.h
 * @brief TCP connections between all members of a crew, and transfers that run at once.
 */
#pragma once

#include "calibrate/backend/crew.h"

#define MESH_MAX 64

typedef struct {
  const CrewMember *me;
  int peers[MESH_MAX]; /**< a socket by rank; -1: me */
} Mesh;

/** What goes to a peer, or comes from it. */
typedef struct {
  guint peer;
  bool outward;
  guint8 *bytes; /**< read if outward, else written */
  gsize n;
} Transfer;

/**
 * Connect every pair: ranks listen at @p address_of(rank) (IPv4, host byte order) and ring
 * up those below them. All members call it at once.
 * @return false with an error, or without if another member has failed
 */
bool mesh_open(Mesh *mesh, const CrewMember *me, guint32 (*address_of)(guint rank),
               GError **error);
void mesh_close(Mesh *mesh);

/** Run all of @p transfers side by side until each is done: what is sent is then in the
 *  kernel's hands, what is received in ours. The array is used up. */
bool mesh_exchange(const Mesh *mesh, Transfer *transfers, guint n, GError **error);
