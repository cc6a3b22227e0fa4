#include "server/http/token.h"

#include "server/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A line at the end of the file, which nobody else may read where it is new. */
static Status append_line(const char *path, const char *line, Error *err)
{
    char text[128];
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    if (file < 0)
        return error_set(err, STATUS_IO, "could not open \"%s\": %s", path,
                         strerror_r(errno, text, sizeof text));
    if (dprintf(file, "%s\n", line) < 0 || fsync(file))
        error_set(err, STATUS_IO, "could not write \"%s\": %s", path,
                  strerror_r(errno, text, sizeof text));
    (void)close(file);
    return err->status;
}

static int run(int argc, char **argv)
{
    CliArguments arguments;
    char token[TOKEN_SIZE], line[TOKEN_LINE_SIZE];
    int exit_code = EXIT_DONE;
    Error err = {0};

    if (!cli_parse(&token_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    const char *path = cli_value(&arguments, "--token-file");
    Access role = access_find(arguments.operand[1]);
    if (strcmp(arguments.operand[0], "new") != 0)
        return cli_usage(&token_command, "there is \"new\" only, not \"%s\"", arguments.operand[0]);
    if (role == ACCESS_COUNT)
        return cli_usage(&token_command, "the role must be read, submit or admin, is \"%s\"",
                         arguments.operand[1]);
    if (token_create(token, &err) || token_line(token, role, arguments.operand[2], line, &err) ||
        (path && append_line(path, line, &err)))
        return cli_fail(&err);
    (void)printf("%s\n", token);
    if (!path)
        (void)fprintf(stderr, "its line of the server's token file:\n%s\n", line);
    return EXIT_DONE;
}

static const CliOption options[] = {
    {"--token-file", NULL, "FILE", "add its line to the server's token file"},
    {0},
};

const CliCommand token_command = {
    .name = "token",
    .usage = "new ROLE NAME [--token-file FILE]",
    .summary = "an access token for a server",
    .description = "Prints a new token, once: the server's token file has only its hash. ROLE is "
                   "read (look at\n"
                   "everything), submit (upload, and work with jobs too) or admin (remove models "
                   "too). A server\n"
                   "reads its file (bakehouse serve --token-file FILE) when it starts and on "
                   "SIGHUP. Limits of a\n"
                   "token's own stand behind its hash: requests=N (a second) queued=N "
                   "upload-mib=N.",
    .operand_min = 3,
    .operand_max = 3,
    .option = options,
    .run = run,
};
