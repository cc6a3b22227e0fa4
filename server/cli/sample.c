#include "server/cli/cli.h"
#include "sim/samples.h"

static int list_samples(void)
{
    int count = 0;
    const SampleInfo *sample = sample_list(&count);

    for (int i = 0; i < count; i++)
        (void)printf("%-10s %s (.%s)\n", sample[i].name, sample[i].description,
                     sample[i].extension);
    return EXIT_DONE;
}

static int write_sample(const CliArguments *arguments, const SampleInfo *sample)
{
    const char *hair = cli_value(arguments, "--hair");
    const char *output = cli_value(arguments, "--output");
    SampleOptions options = {
        .avatar = {.hair = hair ? avatar_hair_find(hair) : AVATAR_HAIR_SIMPLE}};
    Error err = {0};

    if (options.avatar.hair == AVATAR_HAIR_COUNT)
        return cli_usage(&sample_command, "--hair must be simple or layered, is \"%s\"", hair);
    if (!output)
        return cli_usage(&sample_command, "say where to write it: -o %s.%s", sample->name,
                         sample->extension);
    ByteWriter file = byte_writer(SAMPLE_FILE_MAX, &err);
    if (!sample_write(sample, &options, &file, &err))
        (void)cli_write_file(output, byte_writer_bytes(&file), &err);
    byte_writer_close(&file);
    return err.status ? cli_fail(&err) : EXIT_DONE;
}

static int run(int argc, char **argv)
{
    CliArguments arguments;
    int exit_code = EXIT_DONE;

    if (!cli_parse(&sample_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    if (arguments.operand_count == 0)
        return list_samples();
    const SampleInfo *sample = sample_find(arguments.operand[0]);
    if (!sample)
        return cli_usage(&sample_command,
                         "there is no sample \"%s\"; `bakehouse sample` lists them",
                         arguments.operand[0]);
    return write_sample(&arguments, sample);
}

static const CliOption options[] = {
    {"--output", "-o", "FILE", "where to write it; - is standard output"},
    {"--hair", NULL, "STYLE", "of the avatar: simple (default), or layered (12 chains)"},
    {0},
};

const CliCommand sample_command = {
    .name = "sample",
    .usage = "[NAME -o FILE]",
    .summary = "a built-in character to try things on",
    .description =
        "Writes a sample asset that is made by code, so that everything can be tried without a\n"
        "file of one's own. Without a name it lists the samples.",
    .operand_min = 0,
    .operand_max = 1,
    .option = options,
    .run = run,
};
