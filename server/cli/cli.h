/* Command line: what the subcommands share. Each subcommand is one file with one CliCommand; main.c
 * lists them.
 *
 * Results go to standard output, messages and the progress bar to standard error. One thread; a
 * command frees what it opened, the process's exit the rest.
 */
#pragma once

#include "server/jobs/spec.h"
#include "sim/assets.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum ExitCode {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,   /* the input is at fault */
    EXIT_USAGE = 2,   /* the command line is */
    EXIT_MACHINE = 3, /* the machine or the store is */
    EXIT_GATE = 4     /* the bake is done, but a gate was not passed */
} ExitCode;

/* --- options --- */

typedef struct CliOption {
    const char *name;     /* "--fps" */
    const char *letter;   /* "-o", or NULL */
    const char *argument; /* "FILE", NULL for a switch */
    const char *help;     /* one line, or several separated by '\n' */
} CliOption;

typedef struct CliCommand {
    const char *name;
    const char *usage;       /* what follows the name: "FILE [options]" */
    const char *summary;     /* one line for the list of commands */
    const char *description; /* paragraphs for --help, lines of at most 96 columns */
    int operand_min, operand_max;
    const CliOption *option; /* closed by a NULL name; --help is always there */
    const CliOption *more;   /* a second table that commands share, or NULL */
    int (*run)(int argc, char **argv);
} CliCommand;

enum { CLI_VALUES_MAX = 64 };

/* A command line taken apart; all texts are argv's. */
typedef struct CliArguments {
    int operand_count;
    const char *operand[CLI_VALUES_MAX];
    int value_count;
    const CliOption *given[CLI_VALUES_MAX]; /* in the order of the command line */
    const char *value[CLI_VALUES_MAX];      /* "" for a switch */
} CliArguments;

/* Takes argv apart ("--name value" and "--name=value", "--" ends options). False when the command
 * is over: help was printed (EXIT_DONE), or the command line was wrong (EXIT_USAGE), in `out_exit`.
 */
bool cli_parse(const CliCommand *command, int argc, char **argv, CliArguments *out, int *out_exit);

/* The last value given for an option, or NULL. */
const char *cli_value(const CliArguments *arguments, const char *name);
bool cli_has(const CliArguments *arguments, const char *name);

void cli_print_help(const CliCommand *command);

/* "bakehouse: MESSAGE" on standard error; the exit code that goes with the failure. */
int cli_fail(const Error *err);
int cli_usage(const CliCommand *command, const char *format, ...) PRINTF_LIKE(2, 3);
/* Every fault on a line of its own: "JOB.json: /time/fps must be ...". */
int cli_print_faults(const char *path, const Faults *faults);

/* --- files --- */

typedef struct CliFile {
    const char *path;
    Bytes bytes; /* mapped */
} CliFile;

NODISCARD Status cli_open_file(const char *path, int64_t limit, CliFile *out, Error *err);
void cli_close_file(CliFile *file);
/* Writes a file whole or not at all (beside it, then renamed); "-" is standard output. */
Status cli_write_file(const char *path, Bytes bytes, Error *err);
bool cli_has_extension(const char *path, const char *extension);

/* --- assets --- */

typedef struct CliAsset {
    const char *path;
    Arena arena; /* of the rig */
    const Rig *rig;
    char id[ASSET_ID_SIZE];
    char sha256[SHA256_HEX_SIZE];
    /* as it was read, open as long as the asset: exports read them again */
    CliFile file;
    AssetOptions options;
    Arena beside;       /* of what follows and of the options */
    CliFile *side_file; /* (options.side_file_count) */
} CliAsset;

typedef struct CliImport {
    char prefix; /* of the id: 'm' or 'a' */
    double unit;
    bool is_z_up;
} CliImport;

/* --unit and --up of a command. */
NODISCARD Status cli_import_options(const CliArguments *arguments, char prefix, CliImport *out,
                                    Error *err);
/* The file, with its side files that stand beside it. */
NODISCARD Status cli_open_asset(const char *path, const CliImport *import, CliAsset *out,
                                Error *err);
void cli_close_asset(CliAsset *asset);

/* --- commands --- */

/* The data folder of commands that work on one: --data, BAKEHOUSE_DATA, or bakehouse-data. */
const char *cli_data_folder(const CliArguments *arguments);

extern const CliCommand backup_command;
extern const CliCommand bake_command;
extern const CliCommand check_command;
extern const CliCommand fsck_command;
extern const CliCommand inspect_command;
extern const CliCommand sample_command;
extern const CliCommand sheet_command;
extern const CliCommand template_command;
extern const CliCommand token_command;

/* The server has options of its own (server/cli/serve.c). */
int cli_serve(int argc, char **argv);
