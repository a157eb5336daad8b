/*
 * Judges every file of the folders or files that are named, as the fuzzer does, without it.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count;
static const char *current; /* file, told when it ends the process */

static void tell_file(int signal)
{
    (void)signal;
    fprintf(stderr, "replay: %s\n", current);
}

static int replay_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "replay: %s: cannot be read\n", path);
        return 1;
    }
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    current = path;
    LLVMFuzzerTestOneInput(data, size);
    count++;
    return 0;
}

static int replay(const char *path)
{
    DIR *dir = opendir(path);
    int failed = 0;
    if (!dir)
        return replay_file(path);
    for (struct dirent *e; (e = readdir(dir));) {
        char name[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        failed += replay_file(name);
    }
    closedir(dir);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    signal(SIGABRT, tell_file);
    for (int i = 1; i < argc; i++)
        failed += replay(argv[i]);
    printf("%d problems of the fuzzer's corpus answered truly\n", count);
    return failed > 0 || count == 0;
}
