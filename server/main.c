/* bakehouse: one binary, one subcommand a use. */
#include "server/cli/cli.h"
#include "server/jobs/job_process.h"

#include <signal.h>
#include <string.h>

static const CliCommand *const commands[] = {
    &bake_command,  &inspect_command, &check_command,  &template_command, &sample_command,
    &sheet_command, &token_command,   &backup_command, &fsck_command,     NULL,
};

static void print_commands(void)
{
    (void)printf("bakehouse %s: bakes the secondary motion of animated characters\n\n"
                 "usage: bakehouse COMMAND ...\n\n"
                 "  %-14s %s\n",
                 BAKEHOUSE_VERSION, "serve", "the server: models and jobs over HTTP");
    for (int i = 0; commands[i]; i++)
        (void)printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    (void)printf("\nbakehouse COMMAND --help says how a command is used.\n"
                 "exit codes: 0 done, 1 the input is at fault, 2 usage, 3 the machine is at fault, "
                 "4 a gate was\nnot passed\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    // a file that may not grow is an error like a full disk, not the end of the process
    (void)signal(SIGXFSZ, SIG_IGN);

    if (strcmp(name, "--version") == 0) {
        (void)printf("bakehouse %s (simulation %d)\n", BAKEHOUSE_VERSION, (int)SIM_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_commands();
        return EXIT_DONE;
    }
    if (strcmp(name, "serve") == 0)
        return cli_serve(argc - 1, argv + 1);
    if (strcmp(name, "worker") == 0)
        return job_process_main();
    for (int i = 0; commands[i]; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    if (name[0])
        (void)fprintf(stderr, "bakehouse: there is no command \"%s\"\n", name);
    (void)fprintf(stderr, "usage: bakehouse COMMAND ... (bakehouse --help lists the commands)\n");
    return EXIT_USAGE;
}
