/* Server: the adapter to libmicrohttpd: threads, connections, from bytes to a Request, its route,
 * and back. */
#pragma once

#include "base/error.h"

struct App;
typedef struct Server Server;

NODISCARD Status server_open(struct App *app, Server **out, Error *err);
/* "127.0.0.1:8080": where it really listens. */
const char *server_address(const Server *server);
/* New connections are no longer taken. */
void server_quiesce(Server *server);
/* Every suspended connection must have been resumed, and none may be suspended any more. Accepts
 * NULL. */
void server_close(Server *server);

/* Connections of which no stream may take the last ones, for they would hang without an answer. */
enum { CONNECTIONS_KEPT = 256 };
