/* Clip sampling: the value of one channel at one moment, as glTF 2.0 defines it (3.11 and
 * appendix C). Pure functions; any times and any order.
 */
#pragma once

#include "sim/rig.h"

/* The channel's value at `time` seconds into `out` (channel->width floats): before the first key
 * the first value, behind the last the last. Rotations come out unit, interpolated spherically
 * along the shorter way (LINEAR) or by the spline and then normalised (CUBICSPLINE). */
void clip_sample(const ClipChannel *channel, double time, float *out);

/* Spherical interpolation of unit quaternions along the shorter way: exactly a at 0, b or -b at 1.
 */
Quat quat_slerp(Quat a, Quat b, double t);
