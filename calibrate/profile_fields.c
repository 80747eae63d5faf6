#include "calibrate/profile_fields.h"

static const char *const axis_names[] = { "bytes", "flops", "count", NULL };

// clang-format off
#define FIELD(object, name, kind, ...)                                                     \
  { .key = #name, .type = PROFILE_##kind, .offset = offsetof(object, name), __VA_ARGS__ }
#define END { .key = NULL }

const ProfileField profile_head_fields[] = {
  { .key = "profile_id", .type = PROFILE_TEXT, .offset = offsetof(Profile, id),
    .required = true },
  FIELD(Profile, created_utc, TEXT, .required = false),
  END,
};

const ProfileField profile_tool_fields[] = {
  { .key = "version", .type = PROFILE_TEXT, .offset = offsetof(Profile, tool_version) },
  FIELD(Profile, command, TEXT, .required = false),
  END,
};

const ProfileField profile_input_fields[] = {
  FIELD(ProfileInput, kind, TEXT, .required = true),
  FIELD(ProfileInput, path, TEXT, .required = false),
  FIELD(ProfileInput, sha256, TEXT, .required = false),
  { .key = "samples", .type = PROFILE_COUNT, .offset = offsetof(ProfileInput, n_samples) },
  { .key = "unreadable_cells", .type = PROFILE_COUNT,
    .offset = offsetof(ProfileInput, n_unreadable) },
  END,
};

const ProfileField profile_key_fields[] = {
  FIELD(Sample, probe, TEXT, .required = true),
  FIELD(Sample, library, TEXT, .required = false),
  FIELD(Sample, algo, TEXT, .required = false),
  FIELD(Sample, proto, TEXT, .required = false),
  FIELD(Sample, dtype, TEXT, .required = false),
  FIELD(Sample, regime, TEXT, .required = false),
  FIELD(Sample, place, TEXT, .required = false),
  FIELD(Sample, variant, TEXT, .required = false),
  FIELD(Sample, ranks, COUNT, .required = true),
  FIELD(Sample, nodes, COUNT, .required = true),
  FIELD(Sample, axis, NAME, .required = true, .names = axis_names),
  FIELD(Sample, source, NAME, .required = true, .names = source_names),
  END,
};

const ProfileField profile_sample_fields[] = {
  FIELD(Sample, size, NUMBER, .required = true),
  FIELD(Sample, median_s, NUMBER, .required = true),
  FIELD(Sample, mad_s, NUMBER, .required = false),
  FIELD(Sample, min_s, NUMBER, .required = false),
  FIELD(Sample, p95_s, NUMBER, .required = false),
  FIELD(Sample, n, COUNT, .required = true),
  FIELD(Sample, n_rejected, COUNT, .required = false),
  FIELD(Sample, run_spread, NUMBER, .required = false),
  FIELD(Sample, flags, FLAGS, .required = false),
  END,
};

const ProfileField profile_law_fields[] = {
  FIELD(Law, id, TEXT, .required = true),
  FIELD(Law, form, NAME, .required = true, .names = law_form_names),
  FIELD(Law, source, NAME, .required = true, .names = source_names),
  FIELD(Law, valid_from, NUMBER, .required = true),
  FIELD(Law, valid_to, NUMBER, .required = true),
  FIELD(Law, nodes_from, COUNT, .required = true),
  FIELD(Law, nodes_to, COUNT, .required = true),
  FIELD(Law, knots_change, NUMBER, .required = false),
  END,
};

const ProfileField profile_segment_fields[] = {
  FIELD(LawSegment, from, NUMBER, .required = true),
  FIELD(LawSegment, to, NUMBER, .required = true),
  FIELD(LawSegment, n_points, COUNT, .required = false),
  FIELD(LawSegment, alpha_s, ESTIMATE, .required = true),
  FIELD(LawSegment, s_per_unit, ESTIMATE, .required = true),
  END,
};

const ProfileField profile_parameter_fields[] = {
  FIELD(LawParameter, name, TEXT, .required = true),
  { .key = "value", .type = PROFILE_ESTIMATE, .offset = offsetof(LawParameter, estimate),
    .required = true },
  END,
};

const ProfileField profile_candidate_fields[] = {
  FIELD(LawCandidate, n_segments, COUNT, .required = true),
  FIELD(LawCandidate, bic, NUMBER, .min = -1e300, .max = 1e300),
  FIELD(LawCandidate, rms, NUMBER, .required = false),
  FIELD(LawCandidate, cv_rms, NUMBER, .required = false),
  END,
};

const ProfileField profile_fit_fields[] = {
  FIELD(LawFit, n_points, COUNT, .required = false),
  FIELD(LawFit, n_outliers, COUNT, .required = false),
  FIELD(LawFit, rms, NUMBER, .required = false),
  FIELD(LawFit, median, NUMBER, .required = false),
  FIELD(LawFit, max, NUMBER, .required = false),
  FIELD(LawFit, autocorrelation, NUMBER, .min = -1.5, .max = 1.5),
  FIELD(LawFit, cv_median, NUMBER, .required = false),
  FIELD(LawFit, cv_rms, NUMBER, .required = false),
  FIELD(LawFit, cv_last_rms, NUMBER, .required = false),
  END,
};

const ProfileField profile_constant_fields[] = {
  { .key = "for", .type = PROFILE_TEXT, .offset = offsetof(ProfileConstant, owner),
    .required = true },
  FIELD(ProfileConstant, key, TEXT, .required = true),
  FIELD(ProfileConstant, value, TEXT, .required = true),
  FIELD(ProfileConstant, low, TEXT, .required = false),
  FIELD(ProfileConstant, high, TEXT, .required = false),
  FIELD(ProfileConstant, source, NAME, .required = true, .names = source_names),
  FIELD(ProfileConstant, from, TEXT, .required = false),
  END,
};
// clang-format on
