/* Findings of a check, printed alike by fsck and backup. */
#pragma once

#include "server/store/check.h"

#include <stdio.h>

enum { FINDINGS_SHOWN = 1000 };

/* One a line: kind, whose, what, and what repair would do or has done. */
void print_findings(const CheckReport *report, FILE *out);
