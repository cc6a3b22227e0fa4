/* Dispatch: a request's way through the server, called by libmicrohttpd on its threads. */
#pragma once

#include <microhttpd.h>

#include <stddef.h>

enum MHD_Result dispatch_handle(void *app_, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_size, void **request_);
void dispatch_completed(void *app_, struct MHD_Connection *connection, void **request_,
                        enum MHD_RequestTerminationCode code);
