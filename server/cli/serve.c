/* bakehouse serve: the server. */
#include "server/app.h"
#include "server/cli/cli.h"
#include "server/config.h"
#include "server/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(void)
{
    (void)printf("usage: bakehouse serve [options]\n\n"
                 "Serves models and jobs over HTTP until it gets SIGTERM or SIGINT; then it lets "
                 "running jobs\nfinish for --drain-ms, puts the others back into the queue, and "
                 "stops.\n\n");
    config_write_help(stdout);
}

/* The pool has a thread for each simulation and four for tasks; libuv reads this when it makes it.
 */
static Status size_pool(const Config *config, Error *err)
{
    char threads[16];

    (void)snprintf(threads, sizeof threads, "%d", (int)config->workers + TASKS_MAX);
    if (setenv("UV_THREADPOOL_SIZE", threads, 1)) // NOLINT(concurrency-mt-unsafe): one thread yet
        return error_set(err, STATUS_NO_MEMORY, "could not size the thread pool");
    return STATUS_OK;
}

int cli_serve(int argc, char **argv)
{
    Config config;
    Error err = {0};
    App *app = NULL;

    if (config_read(argc, argv, &config, &err)) {
        (void)fprintf(stderr, "bakehouse serve: %s\n", err.message);
        return EXIT_USAGE;
    }
    if (config.wants_help) {
        print_help();
        return EXIT_DONE;
    }
    log_open(config.is_verbose ? LOG_DEBUG : LOG_INFO,
             strcmp(config.log_format, "json") == 0 ? LOG_JSON : LOG_TEXT);
    (void)signal(SIGPIPE, SIG_IGN);
    if (size_pool(&config, &err) || app_open(&config, &app, &err)) {
        log_event(LOG_ERROR, "server.failed", "message=%s", log_quote(err.message).text);
        return EXIT_MACHINE;
    }
    app_run(app);
    app_close(app);
    return EXIT_DONE;
}
