#include "sim/engine/mail.h"

Mail *mail_new(void)
{
  Mail *mail = g_new0(Mail, 1);
  mail->messages = g_array_new(FALSE, FALSE, sizeof(Message));
  mail->next = g_array_new(FALSE, FALSE, sizeof(guint));
  return mail;
}

void mail_free(Mail *mail)
{
  if (mail == NULL)
    return;
  g_array_unref(mail->messages);
  g_array_unref(mail->next);
  g_free(mail);
}

const Message *mail_message(const Mail *mail, guint index)
{
  return &g_array_index(mail->messages, Message, index);
}
