/* The page at "/": what the browser needs is in the binary, and nothing comes from elsewhere. */
#include "server/api/api.h"
#include "server/embedded.h"

#include <string.h>

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static Status answer(Response *response, const char *path, const char *type, Error *err)
{
    const EmbeddedFile *file = embedded_find(path);

    if (!file)
        return error_set(err, STATUS_NOT_FOUND, "this build has no page");
    response_data(response, type, (Bytes){file->data, file->size});
    response_header(response, "Content-Security-Policy", policy);
    response_header(response, "Cache-Control", "no-cache");
    return STATUS_OK;
}

static Status get_page(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    return answer(response, "server/page/index.html", "text/html; charset=utf-8", err);
}

static Status get_script(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    return answer(response, "server/page/page.js", "text/javascript; charset=utf-8", err);
}

static Status get_style(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    return answer(response, "server/page/page.css", "text/css; charset=utf-8", err);
}

const Route page_routes[] = {
    {"GET", "/", ROUTE_READ, false, get_page, ACCESS_OPEN},
    {"GET", "/page.js", ROUTE_READ, false, get_script, ACCESS_OPEN},
    {"GET", "/page.css", ROUTE_READ, false, get_style, ACCESS_OPEN},
    {0},
};
