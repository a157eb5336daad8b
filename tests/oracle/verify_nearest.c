/* Closest points of surfaces against an exhaustive search, and followed branches:
 * verify-nearest QUERIES STEPS [SEED], over 50 surfaces, and 500 pairs of shapes. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/oracle/nearest_campaign.h"

int main(int argc, char **argv)
{
    nearest_campaign c = {.surfaces = 50, .grid = 120, .pairs = 500, .seed = 1};
    if (argc < 3 || (c.queries = atol(argv[1])) <= 0 || (c.steps = atol(argv[2])) <= 0) {
        fputs("usage: verify-nearest QUERIES STEPS [SEED]\n", stderr);
        return 2;
    }
    if (argc > 3)
        c.seed = strtoull(argv[3], NULL, 10);
    nearest_findings f = nearest_campaign_run(&c);
    printf("%ld queries over %d surfaces: %ld farther than the exhaustive search (%.1e of the size "
           "at most), %ld bounds untrue, %ld not certified\n",
           f.queries, c.surfaces, f.farther, f.worst, f.untrue, f.uncertain);
    printf("%ld steps along branches: %ld with an event, %ld checked without one, %ld lost\n",
           f.steps, f.events, f.checked, f.lost);
    printf("%ld pairs of shapes: %ld farther than the exhaustive search, %ld bounds untrue\n",
           f.pairs, f.pairs_farther, f.pairs_untrue);
    return f.pairs_farther || f.pairs_untrue || f.farther || f.untrue || f.lost ? 1 : 0;
}
