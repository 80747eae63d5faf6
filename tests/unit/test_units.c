/**
 * @file test_units.c
 * @brief Bits, bytes, decimal and binary are told apart; nothing is guessed.
 */
#include "sim/base/registry.h"
#include "sim/base/units.h"

#include <CUnit/Basic.h>
#include <locale.h>
#include <math.h>
#include <string.h>

typedef bool (*Parse)(const char *text, double *out, GError **error);

typedef struct {
  Parse parse;
  const char *text;
  double value;
} Good;

static const Good good[] = {
  { units_parse_rate, "25 Gbit/s", 3125000000 },
  { units_parse_rate, "25 GB/s", 25e9 },
  { units_parse_rate, "25Gb/s", 3125000000 },
  { units_parse_rate, "25 Gbps", 3125000000 },
  { units_parse_rate, "2 GiB/s", 0x1p31 },
  { units_parse_rate, "8 Kibit/s", 1024 },
  { units_parse_rate, "0", 0 },
  { units_parse_bytes, "64 MiB", 0x1p26 },
  { units_parse_bytes, "25 MB", 25e6 },
  { units_parse_bytes, "9000 B", 9000 },
  { units_parse_bytes, "2 kB", 2000 },
  { units_parse_bytes, "2 KB", 2000 },
  { units_parse_bytes, "2 KiB", 2048 },
  { units_parse_bytes, "1 PiB", 0x1p50 },
  { units_parse_bytes, "-1 B", -1 },
  { units_parse_seconds, "3 us", 3e-6 },
  { units_parse_seconds, "3 \xc2\xb5s", 3e-6 },
  { units_parse_seconds, "1.5e3 ms", 1.5 },
  { units_parse_seconds, "2 min", 120 },
  { units_parse_flops, "125 TFLOP/s", 125e12 },
  { units_parse_flops, "15.7 TFLOP/s", 15.7e12 },
  { units_parse_fraction, "35 %", 0.35 },
  { units_parse_fraction, "0.35", 0.35 },
  { units_parse_number, "-2.5", -2.5 },
};

static void test_every_spelling_means_what_it_says(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
    double value = NAN;
    CU_ASSERT_TRUE(good[i].parse(good[i].text, &value, NULL));
    CU_ASSERT_EQUAL(value, good[i].value);
  }
}

typedef struct {
  Parse parse;
  const char *text, *message;
} Bad;

static const Bad bad[] = {
  { units_parse_rate, "25 GBit",
    "\"25 GBit\" is not a rate: does it mean \"25 Gbit/s\" or \"25 GB/s\"?" },
  { units_parse_rate, "25 GBit/s",
    "\"25 GBit/s\" is not a rate: does it mean \"25 Gbit/s\"?" },
  { units_parse_rate, "25 gb/s",
    "\"25 gb/s\" is not a rate: does it mean \"25 GB/s\" or \"25 Gbit/s\"?" },
  { units_parse_rate, "25", "25 has no unit: write \"25 Gbit/s\" or \"25 GB/s\"" },
  { units_parse_rate, "nan", "\"nan\" is not a rate: it has no number" },
  { units_parse_rate, "inf GB/s", "\"inf GB/s\" is not a rate: it has no number" },
  { units_parse_rate, "", "\"\" is not a rate: it has no number" },
  { units_parse_rate, "0x10 GB/s",
    "\"0x10 GB/s\" is not a rate: write it like \"0 Gbit/s\" or \"0 GB/s\"" },
  { units_parse_rate, "25 GB/s!",
    "\"25 GB/s!\" is not a rate: write it like \"25 Gbit/s\" or \"25 GB/s\"" },
  { units_parse_rate, "1e999 GB/s", "\"1e999 GB/s\" is too large a number" },
  { units_parse_rate, "1e305 GB/s", "\"1e305 GB/s\" is too large a number" },
  { units_parse_bytes, "64", "64 has no unit: write \"64 MiB\" or \"64 MB\"" },
  { units_parse_bytes, "64 mib",
    "\"64 mib\" is not a size in bytes: does it mean \"64 MiB\"?" },
  { units_parse_bytes, "64 Mb",
    "\"64 Mb\" is not a size in bytes: does it mean \"64 MB\"?" },
  { units_parse_bytes, "1,000 B",
    "\"1,000 B\" is not a size in bytes: write it like \"1 MiB\" or \"1 MB\"" },
  { units_parse_seconds, "3 sec", "\"3 sec\" is not a time: does it mean \"3 s\"?" },
  { units_parse_seconds, "3 S", "\"3 S\" is not a time: does it mean \"3 s\"?" },
  { units_parse_flops, "125 tflops",
    "\"125 tflops\" is not a computing rate: does it mean \"125 TFLOP/s\"?" },
  { units_parse_fraction, "35 percent",
    "\"35 percent\" is not a fraction: does it mean \"35 %\"?" },
  { units_parse_number, "3 apples",
    "\"3 apples\" is not a bare number: leave out \"apples\"" },
};

static void test_every_refusal_names_cause_and_remedy(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autoptr(GError) error = NULL;
    double value = 7;
    CU_ASSERT_FALSE(bad[i].parse(bad[i].text, &value, &error));
    CU_ASSERT_EQUAL(value, 7);
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    CU_ASSERT_STRING_EQUAL(error->message, bad[i].message);
    if (strcmp(error->message, bad[i].message) != 0)
      g_printerr("\n%s\n%s\n", error->message, bad[i].message);
  }
}

typedef struct {
  char *(*format)(double value);
  double value;
  const char *text;
} Form;

static const Form forms[] = {
  { units_format_rate, 3125000000, "25 Gbit/s" },
  { units_format_rate, 150e9, "150 GB/s" },
  { units_format_rate, 12.5e9, "100 Gbit/s" },
  { units_format_bytes, 0x1p26, "64 MiB" },
  { units_format_bytes, 25e6, "25 MB" },
  { units_format_bytes, 9000, "9 kB" },
  { units_format_seconds, 3e-6, "3 us" },
  { units_format_seconds, 0.005, "5 ms" },
  { units_format_flops, 125e12, "125 TFLOP/s" },
  { units_format_fraction, 0.35, "35 %" },
  { units_format_number, 370, "370" },
  { units_format_number, 0.1, "0.1" },
  { units_format_bytes, 0, "0" },
};

static void test_formats_are_what_a_person_would_write(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
    g_autofree char *text = forms[i].format(forms[i].value);
    CU_ASSERT_STRING_EQUAL(text, forms[i].text);
  }
}

static void test_formats_read_back_as_the_same_number(void)
{
  static const struct {
    char *(*format)(double value);
    Parse parse;
  } pairs[] = {
    { units_format_bytes, units_parse_bytes },
    { units_format_rate, units_parse_rate },
    { units_format_seconds, units_parse_seconds },
    { units_format_flops, units_parse_flops },
    { units_format_fraction, units_parse_fraction },
    { units_format_number, units_parse_number },
  };

  for (guint p = 0; p < G_N_ELEMENTS(pairs); p++)
    for (double value = 1.0 / 3; value > 1e-12 && value < 1e15;
         value *= p < 2 ? 7.1 : 0.31) {
      double back = 0;
      g_autofree char *text = pairs[p].format(value);
      CU_ASSERT_TRUE(pairs[p].parse(text, &back, NULL));
      CU_ASSERT_EQUAL(back, value);
    }
}

static void test_shown_quantities_are_rounded_and_keep_their_scale(void)
{
  static const struct {
    char *(*show)(double value, guint digits);
    double value;
    guint digits;
    const char *text;
  } rows[] = {
    { units_show_seconds, 0.0651234, 3, "65.1 ms" },
    { units_show_seconds, 0.9999, 3, "1 s" },
    { units_show_seconds, 12345, 3, "12345 s" },
    { units_show_seconds, 0, 3, "0 ns" },
    { units_show_rate, 3125000000, 3, "3.12 GB/s" },
    { units_show_flops, 788.4e12, 3, "788 TFLOP/s" },
    { units_show_flops, 2.5e8, 3, "0.25 GFLOP/s" },
    { units_show_bytes, 0x1p26, 3, "64 MiB" },
    { units_show_bytes, 1000 * 0x1p20, 3, "1000 MiB" },
    { units_show_bytes, 0x1p40, 3, "1 TiB" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = rows[i].show(rows[i].value, rows[i].digits);
    CU_ASSERT_STRING_EQUAL(text, rows[i].text);
  }
}

static void test_the_locale_changes_nothing(void)
{
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
    return; /* not installed here: nothing could differ */
  test_every_spelling_means_what_it_says();
  test_formats_are_what_a_person_would_write();
  setlocale(LC_ALL, "C");
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("units", NULL, NULL);
  CU_ADD_TEST(suite, test_every_spelling_means_what_it_says);
  CU_ADD_TEST(suite, test_every_refusal_names_cause_and_remedy);
  CU_ADD_TEST(suite, test_formats_are_what_a_person_would_write);
  CU_ADD_TEST(suite, test_formats_read_back_as_the_same_number);
  CU_ADD_TEST(suite, test_shown_quantities_are_rounded_and_keep_their_scale);
  CU_ADD_TEST(suite, test_the_locale_changes_nothing);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
