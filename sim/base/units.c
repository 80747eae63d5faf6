#include "sim/base/units.h"

#include "sim/base/registry.h"

#include <math.h>
#include <string.h>

/* Scales are kept as a factor and a divisor, both exact, so that "3 us" is 3e-6 to the
 * last bit: 3 / 1e6 is rounded once, 3 * 1e-6 twice. */
typedef struct {
  const char *name;
  double multiply, divide;
} Prefix;

typedef struct {
  const char *name;
  double multiply, divide;
  const char *reading; /* how we write it ourselves */
} Suffix;

/* What people write although it is wrong, and what it may mean. */
typedef struct {
  const char *name, *reading;
} Slip;

typedef struct {
  const char *what;
  const Prefix *prefixes;
  const Suffix *suffixes;
  const Slip *slips;
  const char *examples[2]; /* units for a number that came without */
} Dimension;

static const Prefix no_prefix[] = { { "", 1, 1 }, { NULL, 0, 0 } };

static const Prefix decimal_prefixes[] = {
  { "", 1, 1 },    { "k", 1e3, 1 },  { "K", 1e3, 1 },  { "M", 1e6, 1 },
  { "G", 1e9, 1 }, { "T", 1e12, 1 }, { "P", 1e15, 1 }, { NULL, 0, 0 },
};

static const Prefix all_prefixes[] = {
  { "", 1, 1 },        { "k", 1e3, 1 },     { "K", 1e3, 1 },     { "M", 1e6, 1 },
  { "G", 1e9, 1 },     { "T", 1e12, 1 },    { "P", 1e15, 1 },    { "Ki", 0x1p10, 1 },
  { "Mi", 0x1p20, 1 }, { "Gi", 0x1p30, 1 }, { "Ti", 0x1p40, 1 }, { "Pi", 0x1p50, 1 },
  { NULL, 0, 0 },
};

static const Suffix byte_suffixes[] = { { "B", 1, 1, "B" }, { NULL, 0, 0, NULL } };

static const Slip byte_slips[] = { { "byte", "B" }, { "bytes", "B" }, { NULL, NULL } };

static const Suffix rate_suffixes[] = {
  { "B/s", 1, 1, "B/s" },   { "bit/s", 1, 8, "bit/s" }, { "b/s", 1, 8, "bit/s" },
  { "bps", 1, 8, "bit/s" }, { "Bps", 1, 1, "B/s" },     { NULL, 0, 0, NULL },
};

static const Slip rate_slips[] = {
  { "bit", "bit/s" },  { "Bit", "bit/s" },   { "Bit", "B/s" },      { "b", "bit/s" },
  { "B", "B/s" },      { "bits", "bit/s" },  { "bits/s", "bit/s" }, { "bitps", "bit/s" },
  { "byte/s", "B/s" }, { "bytes/s", "B/s" }, { NULL, NULL },
};

static const Suffix second_suffixes[] = {
  { "s", 1, 1, "s" },      { "ms", 1, 1e3, "ms" },        { "us", 1, 1e6, "us" },
  { "ns", 1, 1e9, "ns" },  { "\xc2\xb5s", 1, 1e6, "us" }, { "\xce\xbcs", 1, 1e6, "us" },
  { "min", 60, 1, "min" }, { "h", 3600, 1, "h" },         { NULL, 0, 0, NULL },
};

static const Slip second_slips[] = {
  { "sec", "s" },       { "second", "s" }, { "seconds", "s" },
  { "msec", "ms" },     { "usec", "us" },  { "nsec", "ns" },
  { "minutes", "min" }, { "hours", "h" },  { NULL, NULL },
};

static const Suffix flop_suffixes[] = { { "FLOP/s", 1, 1, "FLOP/s" },
                                        { "FLOPS", 1, 1, "FLOP/s" },
                                        { NULL, 0, 0, NULL } };

static const Slip flop_slips[] = {
  { "FLOP", "FLOP/s" }, { "OPS", "FLOP/s" }, { "F", "FLOP/s" }, { NULL, NULL }
};

static const Suffix percent_suffixes[] = { { "%", 1, 100, "%" }, { NULL, 0, 0, NULL } };

static const Slip percent_slips[] = { { "percent", "%" }, { "pct", "%" }, { NULL, NULL } };

static const Dimension bytes = {
  "a size in bytes", all_prefixes, byte_suffixes, byte_slips, { "MiB", "MB" }
};
static const Dimension rate = {
  "a rate", all_prefixes, rate_suffixes, rate_slips, { "Gbit/s", "GB/s" }
};
static const Dimension seconds = {
  "a time", no_prefix, second_suffixes, second_slips, { "us", "ms" }
};
static const Dimension flops = {
  "a computing rate", decimal_prefixes, flop_suffixes, flop_slips, { "TFLOP/s", "GFLOP/s" }
};
static const Dimension percent = {
  "a fraction", no_prefix, percent_suffixes, percent_slips, { "%", NULL }
};

/* Decimal digits only: strtod would also take "nan", "inf" and "0x1p3". */
static const char *end_of_number(const char *text)
{
  const char *p = text + (*text == '-' || *text == '+');
  const char *digits = p;

  while (g_ascii_isdigit(*p))
    p++;
  gsize n_digits = (gsize)(p - digits);
  if (*p == '.') {
    const char *decimals = ++p;
    while (g_ascii_isdigit(*p))
      p++;
    n_digits += (gsize)(p - decimals);
  }
  if (n_digits == 0)
    return text;
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
    if (g_ascii_isdigit(*exponent)) {
      while (g_ascii_isdigit(*exponent))
        exponent++;
      p = exponent;
    }
  }
  return p;
}

/* Split "25 Gbit/s" into 25 and a copy of "Gbit/s". */
static bool split(const char *text, const char *what, double *number, char **unit,
                  GError **error)
{
  while (*text == ' ')
    text++;
  const char *end = end_of_number(text);
  if (end == text) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "\"%s\" is not %s: it has no number",
                text, what);
    return false;
  }
  g_autofree char *digits = g_strndup(text, (gsize)(end - text));
  const double value = g_ascii_strtod(digits, NULL);
  if (!isfinite(value)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "\"%s\" is too large a number", text);
    return false;
  }
  *number = value;
  *unit = g_strstrip(g_strdup(end));
  return true;
}

static bool find_unit(const Dimension *dimension, const char *unit, double *multiply,
                      double *divide)
{
  for (const Suffix *suffix = dimension->suffixes; suffix->name != NULL; suffix++) {
    if (!g_str_has_suffix(unit, suffix->name))
      continue;
    const gsize length = strlen(unit) - strlen(suffix->name);
    for (const Prefix *prefix = dimension->prefixes; prefix->name != NULL; prefix++)
      if (strlen(prefix->name) == length && strncmp(unit, prefix->name, length) == 0) {
        *multiply = prefix->multiply * suffix->multiply;
        *divide = prefix->divide * suffix->divide;
        return true;
      }
  }
  return false;
}

typedef int (*CompareText)(const char *a, const char *b);

static void add_reading(GPtrArray *readings, CompareText compare, const char *unit,
                        const Prefix *prefix, const Slip *slip)
{
  g_autofree char *spelled = g_strconcat(prefix->name, slip->name, NULL);
  if (compare(unit, spelled) != 0)
    return;
  const char *name = strcmp(prefix->name, "K") == 0 ? "k" : prefix->name;
  g_autofree char *meant = g_strconcat(name, slip->reading, NULL);
  if (!g_ptr_array_find_with_equal_func(readings, meant, g_str_equal, NULL))
    g_ptr_array_add(readings, g_steal_pointer(&meant));
}

static void add_readings(GPtrArray *readings, CompareText compare, const char *unit,
                         const Dimension *dimension)
{
  for (const Prefix *prefix = dimension->prefixes; prefix->name != NULL; prefix++) {
    for (const Suffix *suffix = dimension->suffixes; suffix->name != NULL; suffix++)
      add_reading(readings, compare, unit, prefix,
                  &(Slip){ suffix->name, suffix->reading });
    for (const Slip *slip = dimension->slips; slip->name != NULL; slip++)
      add_reading(readings, compare, unit, prefix, slip);
  }
}

/* The units that @p unit may have meant: a known slip, or else another spelling of small
 * letters and capitals. */
static GPtrArray *readings_of(const Dimension *dimension, const char *unit)
{
  GPtrArray *readings = g_ptr_array_new_with_free_func(g_free);

  add_readings(readings, strcmp, unit, dimension);
  if (readings->len == 0)
    add_readings(readings, g_ascii_strcasecmp, unit, dimension);
  return readings;
}

static void explain(const Dimension *dimension, const char *text, double number,
                    const char *unit, GError **error)
{
  g_autofree char *digits = units_format_number(number);
  const char *first = dimension->examples[0], *second = dimension->examples[1];
  g_autoptr(GPtrArray) readings = readings_of(dimension, unit);
  g_autoptr(GString) message = g_string_new(NULL);

  if (*unit == '\0') {
    g_string_printf(message, "%s has no unit: write ", digits);
  } else if (readings->len > 0) {
    g_string_printf(message, "\"%s\" is not %s: does it mean ", text, dimension->what);
    first = g_ptr_array_index(readings, 0);
    second = readings->len > 1 ? g_ptr_array_index(readings, 1) : NULL;
  } else {
    g_string_printf(message, "\"%s\" is not %s: write it like ", text, dimension->what);
  }
  g_string_append_printf(message, "\"%s %s\"", digits, first);
  if (second != NULL)
    g_string_append_printf(message, " or \"%s %s\"", digits, second);
  if (*unit != '\0' && readings->len > 0)
    g_string_append_c(message, '?');
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, message->str);
}

static bool parse(const Dimension *dimension, const char *text, double *out, GError **error)
{
  double number = 0, multiply = 1, divide = 1;
  g_autofree char *unit = NULL;

  if (!split(text, dimension->what, &number, &unit, error))
    return false;
  if (!find_unit(dimension, unit, &multiply, &divide) && !(*unit == '\0' && number == 0)) {
    explain(dimension, text, number, unit, error);
    return false;
  }
  const double value = number * multiply / divide;
  if (!isfinite(value)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "\"%s\" is too large a number", text);
    return false;
  }
  *out = value;
  return true;
}

bool units_parse_bytes(const char *text, double *out_B, GError **error)
{
  return parse(&bytes, text, out_B, error);
}

bool units_parse_rate(const char *text, double *out_Bps, GError **error)
{
  return parse(&rate, text, out_Bps, error);
}

bool units_parse_seconds(const char *text, double *out_s, GError **error)
{
  return parse(&seconds, text, out_s, error);
}

bool units_parse_flops(const char *text, double *out_flops, GError **error)
{
  return parse(&flops, text, out_flops, error);
}

bool units_parse_number(const char *text, double *out, GError **error)
{
  g_autofree char *unit = NULL;
  double number = 0;

  if (!split(text, "a number", &number, &unit, error))
    return false;
  if (*unit != '\0') {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "\"%s\" is not a bare number: leave out \"%s\"", text, unit);
    return false;
  }
  *out = number;
  return true;
}

bool units_parse_fraction(const char *text, double *out, GError **error)
{
  return strpbrk(text, "0123456789") != NULL && units_parse_number(text, out, NULL)
           ? true
           : parse(&percent, text, out, error);
}

/* The fewest digits that read back as the same double. */
static char *exact_digits(double number)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  for (int digits = 1; digits < 17; digits++) {
    g_autofree char *format = g_strdup_printf("%%.%dg", digits);
    g_ascii_formatd(buffer, sizeof buffer, format, number);
    if (g_ascii_strtod(buffer, NULL) == number)
      return g_strdup(buffer);
  }
  return g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.17g", number));
}

/* "1e+06" reads worse than "1000000". */
static char *plain_digits(double number)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (number == floor(number) && fabs(number) < 1e15)
    return g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.0f", number));
  return exact_digits(number);
}

/* In the unit that needs the fewest digits, a point counted twice; the first of equals. */
static char *format(const Dimension *dimension, double value)
{
  g_autofree char *best = NULL;
  gsize fewest = G_MAXSIZE;

  if (value == 0)
    return g_strdup("0");
  for (const Suffix *suffix = dimension->suffixes; suffix->name != NULL; suffix++) {
    if (strcmp(suffix->name, suffix->reading) != 0)
      continue;
    for (const Prefix *prefix = dimension->prefixes; prefix->name != NULL; prefix++) {
      const double number =
        value / (prefix->multiply * suffix->multiply) * (prefix->divide * suffix->divide);
      double back = 0;
      g_autofree char *digits = plain_digits(number);
      g_autofree char *text =
        g_strdup_printf("%s %s%s", digits, prefix->name, suffix->name);
      const gsize length = strlen(digits) + (strchr(digits, '.') != NULL);
      if (length < fewest && parse(dimension, text, &back, NULL) && back == value) {
        fewest = length;
        g_free(best);
        best = g_steal_pointer(&text);
      }
    }
  }
  return g_steal_pointer(&best);
}

char *units_format_bytes(double size_B)
{
  return format(&bytes, size_B);
}

char *units_format_rate(double rate_Bps)
{
  return format(&rate, rate_Bps);
}

char *units_format_seconds(double time_s)
{
  return format(&seconds, time_s);
}

char *units_format_flops(double flops_per_s)
{
  return format(&flops, flops_per_s);
}

char *units_format_fraction(double fraction)
{
  g_autofree char *in_percent = format(&percent, fraction);
  g_autofree char *bare = exact_digits(fraction);

  /* 1/3 has no short percentage. */
  return in_percent == NULL || strlen(bare) + 4 < strlen(in_percent)
           ? g_steal_pointer(&bare)
           : g_steal_pointer(&in_percent);
}

char *units_format_number(double number)
{
  return plain_digits(number);
}

/* Round to @p digits in the first scale that leaves less than @p step before the point. */
static char *show(double value, guint digits, const char *const *units,
                  const double *scales, double step)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  guint i = 0;

  if (value == 0)
    return g_strdup_printf("0 %s", units[0]);
  while (units[i + 1] != NULL &&
         fabs(value / scales[i]) >= step * (1 - 0.5 * pow(10, -(double)digits)))
    i++;
  const double number = value / scales[i];
  const int before_point = (int)floor(log10(fabs(number))) + 1;
  g_autofree char *spec =
    before_point > (int)digits ? g_strdup("%.0f") : g_strdup_printf("%%.%ug", digits);
  g_ascii_formatd(buffer, sizeof buffer, spec, number);
  return g_strdup_printf("%s %s", buffer, units[i]);
}

char *units_show_bytes(double size_B, guint digits)
{
  static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL };
  static const double scales[] = { 1, 0x1p10, 0x1p20, 0x1p30, 0x1p40, 0x1p50 };
  return show(size_B, digits, names, scales, 1024);
}

char *units_show_rate(double rate_Bps, guint digits)
{
  static const char *const names[] = {
    "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", NULL
  };
  static const double scales[] = { 1, 1e3, 1e6, 1e9, 1e12, 1e15 };
  return show(rate_Bps, digits, names, scales, 1000);
}

char *units_show_flops(double rate_flops, guint digits)
{
  static const char *const names[] = { "GFLOP/s", "TFLOP/s", "PFLOP/s", NULL };
  static const double scales[] = { 1e9, 1e12, 1e15 };
  return show(rate_flops, digits, names, scales, 1000);
}

char *units_show_seconds(double time_s, guint digits)
{
  static const char *const names[] = { "ns", "us", "ms", "s", NULL };
  static const double scales[] = { 1e-9, 1e-6, 1e-3, 1 };
  return show(time_s, digits, names, scales, 1000);
}
