#include "calibrate/profile.h"

void profile_derive_constants(Profile *profile)
{
  (void)profile;
}
