/* The writers behind sim/exports.h, one file each. They share this form: the file goes behind what
 * `out` holds, and a failure leaves what it may there. */
#pragma once

#include "sim/exports.h"

/* INVALID: what the bake lacks, and what the job must ask for. */
Status export_want_positions(ExportFormat format, Error *err);
Status export_want_joints(ExportFormat format, Error *err);
Status export_want_vrm(const Rig *rig, Error *err);

NODISCARD Status export_glb(const ExportSource *source, Bytes frames, const ExportOptions *options,
                            Arena *scratch, ByteWriter *out, Error *err);
NODISCARD Status export_vrm(const ExportSource *source, Bytes frames, const ExportOptions *options,
                            Arena *scratch, ByteWriter *out, Error *err);
NODISCARD Status export_usda(const ExportSource *source, Bytes frames, const ExportOptions *options,
                             Arena *scratch, ByteWriter *out, Error *err);
NODISCARD Status export_pc2(const ExportSource *source, Bytes frames, const ExportOptions *options,
                            Arena *scratch, ByteWriter *out, Error *err);
NODISCARD Status export_mdd(const ExportSource *source, Bytes frames, const ExportOptions *options,
                            Arena *scratch, ByteWriter *out, Error *err);
NODISCARD Status export_csv(const ExportSource *source, Bytes frames, const ExportOptions *options,
                            Arena *scratch, ByteWriter *out, Error *err);
