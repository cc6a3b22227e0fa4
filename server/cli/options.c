#include "server/cli/cli.h"

#include <stdarg.h>
#include <string.h>

static const CliOption help_option = {"--help", "-h", NULL, "this text"};

static void print_option(const CliOption *option)
{
    char left[64];
    const char *line = option->help;

    (void)snprintf(left, sizeof left, "%s%s%s%s%s", option->letter ? option->letter : "",
                   option->letter ? ", " : "    ", option->name, option->argument ? " " : "",
                   option->argument ? option->argument : "");
    while (line) {
        const char *end = strchr(line, '\n');

        (void)printf("  %-30s %.*s\n", left, end ? (int)(end - line) : (int)strlen(line), line);
        left[0] = '\0';
        line = end ? end + 1 : NULL;
    }
}

void cli_print_help(const CliCommand *command)
{
    (void)printf("usage: bakehouse %s %s\n\n%s\n\noptions:\n", command->name, command->usage,
                 command->description);
    for (const CliOption *option = command->option; option->name; option++)
        print_option(option);
    for (const CliOption *option = command->more; option && option->name; option++)
        print_option(option);
    print_option(&help_option);
    (void)printf("\nexit codes: 0 done, 1 the input is at fault, 2 usage, 3 the machine is at "
                 "fault, 4 a gate was\nnot passed\n");
}

int cli_usage(const CliCommand *command, const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "bakehouse %s: ", command->name);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "\nusage: bakehouse %s %s\n(bakehouse %s --help says more)\n",
                  command->name, command->usage, command->name);
    return EXIT_USAGE;
}

static const CliOption *find_in(const CliOption *table, const char *argument)
{
    size_t size = strcspn(argument, "=");

    for (const CliOption *option = table; option && option->name; option++) {
        bool is_name = strlen(option->name) == size && strncmp(option->name, argument, size) == 0;

        if (is_name || (option->letter && strcmp(option->letter, argument) == 0))
            return option;
    }
    return NULL;
}

/* The option that an argument names, "--name=value" included. */
static const CliOption *find_option(const CliCommand *command, const char *argument)
{
    const CliOption *option = find_in(command->option, argument);

    return option ? option : find_in(command->more, argument);
}

/* Takes the option at argv[*index] and its value; a message on failure. */
static bool take_option(const CliCommand *command, int argc, char **argv, int *index,
                        CliArguments *out)
{
    const char *argument = argv[*index];
    const CliOption *option = find_option(command, argument);
    const char *equals = strncmp(argument, "--", 2) == 0 ? strchr(argument, '=') : NULL;
    const char *value = "";

    if (!option) {
        (void)cli_usage(command, "there is no option \"%s\"", argument);
        return false;
    }
    if (option->argument && equals) {
        value = equals + 1;
    } else if (option->argument) {
        if (*index + 1 >= argc) {
            (void)cli_usage(command, "%s needs a value: %s", option->name, option->argument);
            return false;
        }
        value = argv[++*index];
    } else if (equals) {
        (void)cli_usage(command, "%s takes no value", option->name);
        return false;
    }
    if (out->value_count == CLI_VALUES_MAX) {
        (void)cli_usage(command, "more than %d options", CLI_VALUES_MAX);
        return false;
    }
    out->given[out->value_count] = option;
    out->value[out->value_count++] = value;
    return true;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

bool cli_parse(const CliCommand *command, int argc, char **argv, CliArguments *out, int *out_exit)
{
    bool is_option_possible = true;

    *out = (CliArguments){0};
    *out_exit = EXIT_USAGE;
    for (int i = 1; i < argc; i++) {
        bool is_option = is_option_possible && argv[i][0] == '-' && argv[i][1] != '\0';

        if (is_option && is_help(argv[i])) {
            cli_print_help(command);
            *out_exit = EXIT_DONE;
            return false;
        }
        if (is_option && strcmp(argv[i], "--") == 0) {
            is_option_possible = false;
        } else if (is_option) {
            if (!take_option(command, argc, argv, &i, out))
                return false;
        } else if (out->operand_count == command->operand_max ||
                   out->operand_count == CLI_VALUES_MAX) {
            (void)cli_usage(command, "\"%s\" is one argument too many", argv[i]);
            return false;
        } else {
            out->operand[out->operand_count++] = argv[i];
        }
    }
    if (out->operand_count < command->operand_min) {
        (void)cli_usage(command, "something is missing");
        return false;
    }
    *out_exit = EXIT_DONE;
    return true;
}

const char *cli_value(const CliArguments *arguments, const char *name)
{
    const char *value = NULL;

    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->given[i]->name, name) == 0)
            value = arguments->value[i];
    return value;
}

bool cli_has(const CliArguments *arguments, const char *name)
{
    return cli_value(arguments, name) != NULL;
}

int cli_fail(const Error *err)
{
    (void)fprintf(stderr, "bakehouse: %s\n", err->message);
    switch (err->status) {
    case STATUS_IO:
    case STATUS_FULL:
    case STATUS_NO_MEMORY:
    case STATUS_CANCELLED:
        return EXIT_MACHINE;
    default:
        return EXIT_INPUT;
    }
}

int cli_print_faults(const char *path, const Faults *faults)
{
    for (int i = 0; i < faults->count && i < faults->capacity; i++)
        (void)fprintf(stderr, "%s: %s %s\n", path,
                      faults->fault[i].pointer[0] ? faults->fault[i].pointer : "the job",
                      faults->fault[i].detail);
    if (faults->count > faults->capacity)
        (void)fprintf(stderr, "%s: and %d faults more\n", path, faults->count - faults->capacity);
    return EXIT_INPUT;
}
