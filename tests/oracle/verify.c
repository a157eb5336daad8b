/*
 * Random problems by the hour, or one by name: `verify SECONDS [SEED [SERIES]]` makes problems (of
 * one series by its number, else of all in turn), judges the answers and prints counts; `verify
 * FILE` judges one problem as `guideway solve` reads it. Exit code 1 where anything was untrue.
 */
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire.h"
#include "tests/oracle/campaign.h"

static int judge_file(const char *path)
{
    static char text[GW_MAX_BODY_BYTES];
    gw_error error;
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "verify: %s: cannot be read\n", path);
        return 2;
    }
    size_t size = fread(text, 1, sizeof text, f);
    fclose(f);
    json_t *json = wire_parse(text, size, &error);
    wire_problem *p = json ? wire_get_problem(json, &error) : NULL;
    if (!p) {
        fprintf(stderr, "verify: %s: %s: %s\n", path, error.where, error.message);
        json_decref(json);
        return 2;
    }
    const searches how = {.starts = 400, .samples = 50, .again = 64};
    tally count = {.most_printed = 100, .to = stdout};
    unsigned long long random = 1;
    int faults = judge(wire_problem_stated(p), NULL, &how, &random, &count);
    judge_print(stdout, &count);
    wire_problem_destroy(p);
    json_decref(json);
    return faults > 0;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    double seconds = argc > 1 ? strtod(argv[1], &end) : 60;
    if (end && *end)
        return judge_file(argv[1]);
    unsigned long long random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int only = argc > 3 ? atoi(argv[3]) : -1;
    return campaign(seconds, random, only, stdout) > 0;
}
