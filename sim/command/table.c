#include "sim/command/command.h"

const Command *const command_table[] = {
  &command_run,       &command_collective, &command_export, &command_check, &command_show,
  &command_calibrate, &command_list,       &command_help,   NULL,
};
