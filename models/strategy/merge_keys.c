#include "models/strategy/merge_keys.h"

MergeRule merge_keys_rule(const MergeKeys *keys)
{
  const bool known = keys->rate_Bps > 0;

  return (MergeRule){
    .known = known,
    .cost.startup_s = known ? keys->startup_s : 0,
    .cost.s_per_B = known ? 1 / keys->rate_Bps : 0,
  };
}
