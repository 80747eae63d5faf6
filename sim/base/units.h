/**
 * @file units.h
 * @brief The only place that knows "MiB", "Gbit/s" and "us".
 *
 * Decimal and binary prefixes, bits and bytes are told apart; a quantity
 * without a unit is refused, except 0. Everything comes out in SI.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** Each returns false with SIM_ERROR_VALUE (cause and remedy) and leaves @p out alone.
 *  Not-a-number, infinities and trailing text are refused; signs are accepted here,
 *  ranges are the caller's. */
bool units_parse_bytes(const char *text, double *out_B, GError **error);
bool units_parse_rate(const char *text, double *out_Bps, GError **error);
bool units_parse_seconds(const char *text, double *out_s, GError **error);
bool units_parse_flops(const char *text, double *out_flops, GError **error);
bool units_parse_fraction(const char *text, double *out, GError **error);
bool units_parse_number(const char *text, double *out, GError **error);

/** Exact: reading the text again gives the same double. Transfer: caller frees. */
char *units_format_bytes(double size_B);
char *units_format_rate(double rate_Bps);
char *units_format_seconds(double time_s);
char *units_format_flops(double flops);
char *units_format_fraction(double fraction);
char *units_format_number(double number);

/** For people: at most @p digits significant digits, a fitting prefix ("65.1 ms").
 *  Transfer: caller frees. */
char *units_show_bytes(double size_B, guint digits);
char *units_show_rate(double rate_Bps, guint digits);
char *units_show_seconds(double time_s, guint digits);
char *units_show_flops(double flops, guint digits);
