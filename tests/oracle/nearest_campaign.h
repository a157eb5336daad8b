/*
 * Closest points of random surfaces, and of pairs of shapes, against an exhaustive search that is
 * independent of the trees, and followed branches against the same path in many smaller steps.
 */
#ifndef GW_TESTS_ORACLE_NEAREST_CAMPAIGN_H
#define GW_TESTS_ORACLE_NEAREST_CAMPAIGN_H

typedef struct nearest_campaign {
    int surfaces; /* half of them random in degree, knots, weights and trims, half bicubic */
    long queries; /* of the global search, over all surfaces */
    long steps;   /* of followed branches, over all surfaces */
    int pairs;    /* of curves and surfaces, besides */
    int grid;     /* samples of a surface along each direction */
    unsigned long long seed;
} nearest_campaign;

typedef struct nearest_findings {
    long queries, farther; /* than a point that the exhaustive search found */
    long untrue;           /* certificates that such a point contradicts */
    long uncertain;        /* whose certificate leaves more than 1e-9 of the size open */
    double worst;          /* how much farther, of the size */
    long steps, events;    /* of branches: with an event: the branch may end there */
    long checked;          /* of those without one: where smaller steps converge, too */
    long lost;             /* of these: to another foot than in smaller steps */
    long pairs;            /* of shapes: */
    long pairs_farther;    /* than points that the exhaustive search found, beyond the tolerance */
    long pairs_untrue; /* bounds that such points contradict, distances that are not the points' */
} nearest_findings;

nearest_findings nearest_campaign_run(const nearest_campaign *campaign);

#endif
