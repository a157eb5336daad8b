/*
 * Runs a test that measures time, beside one thread for each processor that wakes ten times in
 * LIMIT_MS. When the test fails and one of them was not woken for longer than LIMIT_MS, that
 * processor had stopped (a virtual one that its host took away): the failure says nothing then, and
 * the test is run again.
 *
 *   when_awake LIMIT_MS ATTEMPTS COMMAND [ARGUMENT ...]
 *
 * Ends with the status of the last run. A test that fails while the machine was awake fails at
 * once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t period_ns; /* set before there are threads */
static _Atomic int64_t longest_ns;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *wake_every_period(void *processor)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET((size_t)processor, &mine);
    pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
    /* a test's own loop may have such a priority; without the right to one it is an ordinary thread
     */
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 90});
    for (int64_t before = now_ns();;) {
        nanosleep(&(struct timespec){.tv_nsec = period_ns}, NULL);
        int64_t now = now_ns(), late = now - before - period_ns;
        int64_t longest = atomic_load(&longest_ns);
        while (late > longest && !atomic_compare_exchange_weak(&longest_ns, &longest, late))
            continue;
        before = now;
    }
    return NULL;
}

static int run(char **command)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("when_awake");
        return 127;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    int attempts = argc > 2 ? atoi(argv[2]) : 0;
    double limit_ms = argc > 1 ? atof(argv[1]) : 0;
    if (argc < 4 || attempts < 1 || !(limit_ms > 0 && limit_ms < 1000)) {
        fprintf(stderr, "usage: when_awake LIMIT_MS ATTEMPTS COMMAND [ARGUMENT ...]\n");
        return 2;
    }
    period_ns = (int64_t)(1e5 * limit_ms);
    for (size_t i = 0; i < (size_t)sysconf(_SC_NPROCESSORS_ONLN); i++) {
        pthread_t probe;
        if (pthread_create(&probe, NULL, wake_every_period, (void *)i) != 0) {
            fprintf(stderr, "when_awake: no thread\n");
            return 2;
        }
    }
    for (int i = 1;; i++) {
        atomic_store(&longest_ns, 0);
        int status = run(argv + 3);
        double stalled_ms = 1e-6 * (double)atomic_load(&longest_ns);
        if (status == 0 || stalled_ms < limit_ms || i == attempts) {
            if (status)
                printf("%s failed; the machine stood still for at most %.1f ms\n", argv[3],
                       stalled_ms);
            return status;
        }
        printf("%s failed while the machine stood still for %.1f ms: run again, %d of %d\n",
               argv[3], stalled_ms, i + 1, attempts);
        fflush(stdout);
    }
}
