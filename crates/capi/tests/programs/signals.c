/* Signals of the process are for the threads of the program, and a loop that waits for several things can wait for completions, too. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <tailcut.h>
#include <unistd.h>

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, tailcut_error());                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

int main(void) {
    /* Emulated drives have threads of their own where there are cores for them. */
    tailcut_options *options = tailcut_options_new();
    CHECK(tailcut_options_emulated(options, 1) == TAILCUT_OK);
    tailcut_store *store;
    CHECK(tailcut_open(options, &store) == TAILCUT_OK);
    tailcut_options_free(options);

    /* This thread takes none either, so it stays where it is; a thread that took it would end the process. */
    sigset_t signals, pending;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    CHECK(kill(getpid(), SIGTERM) == 0);

    tailcut_queue *queue;
    CHECK(tailcut_queue_open(store, 4, &queue) == TAILCUT_OK);
    struct pollfd event = {.events = POLLIN};
    CHECK(tailcut_queue_descriptor(queue, &event.fd) == TAILCUT_OK);
    for (int round = 0; round < 100; round++) {
        CHECK(tailcut_submit_get(queue, "key", 3, NULL) == TAILCUT_OK);
        CHECK(poll(&event, 1, -1) == 1);
        tailcut_completion completion;
        size_t count;
        CHECK(tailcut_wait(queue, &completion, 1, 0, &count) == TAILCUT_OK && count == 1);
        CHECK(completion.status == TAILCUT_NOT_FOUND);
    }
    CHECK(poll(&event, 1, 0) == 0);
    tailcut_queue_close(queue);
    CHECK(tailcut_close(store) == TAILCUT_OK);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
    return 0;
}
