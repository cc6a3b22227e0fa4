/* bakehouse backup: a copy of a data folder, beside a running server too. */
#include "server/store/backup.h"

#include "server/cli/cli.h"
#include "server/cli/findings.h"

static int run(int argc, char **argv)
{
    CliArguments arguments;
    Finding finding[FINDINGS_SHOWN];
    BackupReport report = {.check = {.capacity = FINDINGS_SHOWN, .finding = finding}};
    int exit_code = EXIT_DONE;
    Error err = {0};

    if (!cli_parse(&backup_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    const char *dest = arguments.operand[0];
    if (store_backup(cli_data_folder(&arguments), dest, &report, &err)) {
        error_context(&err, "backup");
        (void)cli_fail(&err);
        return EXIT_MACHINE;
    }
    print_findings(&report.check, stderr);
    (void)fprintf(
        stderr, "%s: %lld files of %.1f MiB beside the database, %lld of them linked; %s\n", dest,
        (long long)report.files, (double)report.bytes / (1 << 20), (long long)report.linked,
        report.check.count ? "it has the faults above, as the original does" : "checked");
    return report.check.count ? EXIT_MACHINE : EXIT_DONE;
}

static const CliOption options[] = {
    {"--data", NULL, "DIR", "the data folder (./bakehouse-data)"},
    {0},
};

const CliCommand backup_command = {
    .name = "backup",
    .usage = "DEST [--data DIR]",
    .summary = "a copy of a server's data folder, made while it runs",
    .description =
        "Makes DEST, a data folder with everything that was committed at one moment: bakehouse\n"
        "serve --data DEST runs on it. The server may go on meanwhile. DEST must be new or empty; "
        "it\n"
        "has its name only when it is whole and checked (DEST.partial before). Jobs that run are\n"
        "queued in the copy. Files are linked where DEST lies on the same file system, which costs "
        "no\n"
        "room but shares a bad disk: for safety choose another one.",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .run = run,
};
