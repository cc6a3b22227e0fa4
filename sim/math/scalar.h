/* Elementary functions with the same bits on every machine, compiler and instruction set.
 *
 * libm's differ between versions and processors, so a bake uses these instead. Double in and out;
 * built of + - * / and correctly rounded sqrt only (no fused multiply-add is implied), so every
 * IEEE machine agrees. Error below 2 ulp of double over the stated ranges. Not a number in, not a
 * number out.
 */
#pragma once

/* Any angle up to 1e9 rad (beyond: not a number); both at once in scalar_sin_cos. */
double scalar_sin(double x);
double scalar_cos(double x);
void scalar_sin_cos(double x, double *out_sin, double *out_cos);
/* e to the x; 0 below -745, infinity above 709.78. */
double scalar_exp(double x);
/* Natural logarithm; -infinity at 0, not a number below. */
double scalar_log(double x);
/* In radians, 0 to pi; x outside [-1, 1] is taken as the nearer end. */
double scalar_acos(double x);
/* In radians, -pi to pi. */
double scalar_atan2(double y, double x);
