/* Runs a fuzz target once on every file of a folder: the regression corpus, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 24);
    size_t size = file && data ? fread(data, 1, 1 << 24, file) : 0;

    if (file)
        (void)fclose(file);
    // an exact copy, so that a sanitizer sees a read past the end
    uint8_t *exact = malloc(size ? size : 1);
    for (size_t i = 0; exact && data && i < size; i++)
        exact[i] = data[i];
    int result = exact ? LLVMFuzzerTestOneInput(exact, size) : 1;
    free(exact);
    free(data);
    return result;
}

int main(int argc, char **argv)
{
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    int count = 0;

    if (!folder) {
        (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
        printf("no corpus: ran the empty input\n");
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (replay(path))
            return 1;
        count++;
    }
    (void)closedir(folder);
    printf("%d inputs\n", count);
    return 0;
}
