/* Resume: the way in for a piece of a resumable upload (tus 1.0.0: core, creation, expiration,
 * checksum, termination). The piece is written to its file while it comes; api/uploads.c does the
 * rest. */
#pragma once

#include "server/http/request.h"

enum { TUS_CHECKSUM_MISMATCH = 460 };

/* Before the body of a PATCH comes: opens the upload at the offset that the client names. False:
 * the request is refused as `*out_kind` with its err. */
bool resume_begin(App *app, Request *request, ProblemKind *out_kind);
/* When the body is there: is it what Upload-Checksum says (where it says something)? */
bool resume_is_intact(const Request *request);

/* The headers of every answer about an upload. */
void resume_add_headers(Request *request);
/* Is the version one we speak? Fills in the refusal where not. */
NODISCARD Status resume_check_version(Request *request, Response *response, Error *err);
/* May the bearer work with an upload of this owner? */
bool resume_is_owner(const Request *request, const Partial *partial);
