/**
 * @file mail.h
 * @brief Messages that wait for one another, ready to be carried over wires.
 */
#pragma once

#include <glib.h>

typedef struct {
  guint wire;
  double latency_s; /**< from when it may leave to its first byte on the wire [s] */
  double size_B;
  guint n_before;   /**< messages that it waits for */
  guint first_next; /**< index into Mail.next */
  guint n_next;     /**< messages that wait for it */
} Message;

typedef struct {
  GArray *messages; /**< of Message */
  GArray *next;     /**< of guint: message after message, who waits for it */
} Mail;

Mail *mail_new(void);
void mail_free(Mail *mail);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Mail, mail_free)

const Message *mail_message(const Mail *mail, guint index);
