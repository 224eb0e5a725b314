/* A panic within the library ends a store, and not the program. To provoke one with the library as it is installed, a descriptor of the
 * store's thread is replaced by another file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailcut.h>
#include <unistd.h>

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, tailcut_error());                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static tailcut_store *open_store(void) {
    tailcut_options *options = tailcut_options_new();
    tailcut_store *store;
    CHECK(tailcut_open(options, &store) == TAILCUT_OK);
    tailcut_options_free(options);
    return store;
}

/* How many descriptors by which a thread waits for events were replaced. */
static int replace_event_polls(void) {
    int replaced = 0, other = open("/dev/null", O_RDONLY);
    CHECK(other >= 0);
    for (int descriptor = 3; descriptor < 64; descriptor++) {
        char link[64], name[64];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(link, name, sizeof(name) - 1);
        if (length < 0)
            continue;
        name[length] = 0;
        if (strcmp(name, "anon_inode:[eventpoll]") == 0) {
            CHECK(dup2(other, descriptor) == descriptor);
            replaced++;
        }
    }
    close(other);
    return replaced;
}

int main(void) {
    tailcut_store *store = open_store();
    CHECK(tailcut_set(store, "key", 3, "value", 5, NULL, NULL) == TAILCUT_OK);
    CHECK(replace_event_polls() == 1);
    /* The thread waits on the old one until it is woken, and spins between sets on a busy machine. */
    int status = TAILCUT_OK;
    for (int round = 0; round < 1000000 && status == TAILCUT_OK; round++)
        status = tailcut_set(store, "key", 3, "value", 5, NULL, NULL);
    CHECK(status == TAILCUT_ERROR_CLOSED);
    CHECK(tailcut_delete(store, "key", 3) == TAILCUT_ERROR_CLOSED);
    CHECK(tailcut_close(store) == TAILCUT_ERROR_BUG);
    CHECK(strstr(tailcut_error(), "a bug in tailcut") != NULL);

    /* The program goes on, and so do other stores. */
    store = open_store();
    CHECK(tailcut_set(store, "key", 3, "value", 5, NULL, NULL) == TAILCUT_OK);
    CHECK(tailcut_close(store) == TAILCUT_OK);
    return 0;
}
