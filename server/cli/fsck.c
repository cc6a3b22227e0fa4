/* bakehouse fsck: does a data folder hold what its store says? */
#include "base/json.h"
#include "server/cli/cli.h"
#include "server/cli/findings.h"

static const char *repair_word(const Finding *finding)
{
    return finding->is_repaired ? "repaired" : "repair would";
}

void print_findings(const CheckReport *report, FILE *out)
{
    for (int i = 0; i < report->count && i < report->capacity; i++) {
        const Finding *finding = &report->finding[i];

        (void)fprintf(out, "%-18s %s: %s (%s: %s)\n", finding_name(finding->kind), finding->subject,
                      finding->detail, repair_word(finding), finding_remedy(finding->kind));
    }
    if (report->count > report->capacity)
        (void)fprintf(out, "... and %d more\n", report->count - report->capacity);
}

static void write_finding(JsonWriter *json, const Finding *finding)
{
    json_begin_object(json, NULL);
    json_write_text(json, "kind", finding_name(finding->kind));
    json_write_text(json, "subject", finding->subject);
    json_write_text(json, "detail", finding->detail);
    json_write_text(json, "repair", finding_remedy(finding->kind));
    json_write_bool(json, "repaired", finding->is_repaired);
    json_end_object(json);
}

static Status print_json(const char *folder, const CheckReport *report, Error *err)
{
    Text text = text_open(4 << 20, err);
    JsonWriter json = json_writer(&text, 2);

    json_begin_object(&json, NULL);
    json_write_text(&json, "data", folder);
    json_write_bool(&json, "clean", report->left == 0);
    json_write_bool(&json, "server", report->has_server);
    json_write_int(&json, "files", report->blobs);
    json_write_int(&json, "results", report->results);
    json_write_int(&json, "bytes", report->bytes);
    json_write_int(&json, "found", report->count);
    json_write_int(&json, "left", report->left);
    json_begin_array(&json, "findings");
    for (int i = 0; i < report->count && i < report->capacity; i++)
        write_finding(&json, &report->finding[i]);
    json_end_array(&json);
    json_end_object(&json);
    if (!err->status)
        (void)printf("%s\n", text_string(&text));
    text_close(&text);
    return err->status;
}

static void print_report(const char *folder, const CheckReport *report)
{
    print_findings(report, stdout);
    (void)printf("%s%s: %lld uploaded files, %lld results, %.1f MiB: ", folder,
                 report->has_server ? " (a server runs on it)" : "", (long long)report->blobs,
                 (long long)report->results, (double)report->bytes / (1 << 20));
    if (report->count == 0)
        (void)printf("clean\n");
    else
        (void)printf("%d findings, %d left\n", report->count, report->left);
}

static int run(int argc, char **argv)
{
    CliArguments arguments;
    Finding finding[FINDINGS_SHOWN];
    CheckReport report = {.capacity = FINDINGS_SHOWN, .finding = finding};
    int exit_code = EXIT_DONE;
    Error err = {0};

    if (!cli_parse(&fsck_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    const char *folder = cli_data_folder(&arguments);
    Status status = cli_has(&arguments, "--repair") ? store_repair(folder, &report, &err)
                                                    : store_check(folder, &report, &err);
    if (!status && cli_has(&arguments, "--json"))
        status = print_json(folder, &report, &err);
    else if (!status)
        print_report(folder, &report);
    if (status) {
        error_context(&err, "fsck");
        (void)cli_fail(&err);
        return EXIT_MACHINE;
    }
    return report.left > 0 ? EXIT_MACHINE : EXIT_DONE;
}

static const CliOption options[] = {
    {"--data", NULL, "DIR", "the data folder (./bakehouse-data)"},
    {"--repair", NULL, NULL, "put right what can be; no server may run on the folder"},
    {"--json", NULL, NULL, "the report as JSON"},
    {0},
};

const CliCommand fsck_command = {
    .name = "fsck",
    .usage = "[--data DIR] [--repair] [--json]",
    .summary = "check a server's data folder, and repair it",
    .description =
        "Looks at every page of the database, every uploaded file and every frame, and for files "
        "that\n"
        "belong to nothing. Beside a running server it disturbs nothing, and work in progress is "
        "no\n"
        "finding. Repair removes what belongs to nothing, fails jobs whose frames are gone or "
        "damaged\n"
        "(they can be retried then), and never deletes what the store refers to. Exit code 0: "
        "nothing\n"
        "is left to do; 3: something is.",
    .operand_min = 0,
    .operand_max = 0,
    .option = options,
    .run = run,
};
