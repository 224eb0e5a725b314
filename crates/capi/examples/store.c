/*
 * A store on a file: items are written and read, one by one and as a batch, and found again when the store is opened again.
 *
 *     cc -std=c11 store.c $(pkg-config --cflags --libs tailcut) -o store && ./store /tmp/items
 *
 * The file is made if it does not exist. It takes as much room as is written to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailcut.h>

enum { ITEMS = 1000, ROOM = 64 };

static void check(int status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", what, tailcut_error());
        exit(1);
    }
}

static tailcut_store *open_store(const char *path) {
    tailcut_options *options = tailcut_options_new();
    check(tailcut_options_device(options, path), "device");
    check(tailcut_options_file_bytes(options, UINT64_C(64) << 20), "size");
    check(tailcut_options_keep(options, TAILCUT_STORE), "keep");
    check(tailcut_options_durable(options, 1), "durable");
    tailcut_store *store;
    check(tailcut_open(options, &store), "open");
    tailcut_options_free(options);
    return store;
}

/* One after the other: each call waits until it is done. */
static void one_by_one(tailcut_store *store) {
    const char key[] = "greeting";
    tailcut_write how = TAILCUT_WRITE_INIT;
    how.flags = 7;
    check(tailcut_set(store, key, strlen(key), "hello", 5, &how, NULL), "set");

    tailcut_value *value;
    check(tailcut_get(store, key, strlen(key), &value), "get");
    printf("%s: %.*s, flags %" PRIu32 "\n", key, (int)tailcut_value_length(value),
           (const char *)tailcut_value_data(value), tailcut_value_flags(value));

    /* Only if nobody has changed it since. */
    how.when = TAILCUT_IF_VERSION;
    how.version = tailcut_value_version(value);
    tailcut_value_free(value);
    int first = tailcut_set(store, key, strlen(key), "goodbye", 7, &how, NULL);
    int second = tailcut_set(store, key, strlen(key), "too late", 8, &how, NULL);
    printf("changed: %s, %s\n", first == TAILCUT_OK ? "yes" : "no", second == TAILCUT_OK ? "yes" : "no");

    check(tailcut_delete(store, key, strlen(key)), "delete");
    int found = tailcut_get(store, key, strlen(key), &value);
    check(found, "get");
    printf("deleted: %s\n", tailcut_status_text(found));
}

/* Takes what has ended, and says how many were not as they should be. */
static int take(tailcut_queue *queue, int *under_way) {
    tailcut_completion completions[ROOM];
    size_t count;
    int wrong = 0;
    check(tailcut_wait(queue, completions, ROOM, TAILCUT_FOREVER, &count), "wait");
    for (size_t at = 0; at < count; at++) {
        const tailcut_completion *completion = &completions[at];
        wrong += completion->status != TAILCUT_OK;
        if (completion->value != NULL) {
            /* The value of an item is its number, which was submitted with it. */
            int number;
            wrong += tailcut_value_length(completion->value) != sizeof number;
            memcpy(&number, tailcut_value_data(completion->value), sizeof number);
            wrong += (uintptr_t)number != (uintptr_t)completion->user_data;
            tailcut_value_free(completion->value);
        }
    }
    *under_way -= (int)count;
    return wrong;
}

/* Many at a time: what is durable at the end of each is written together. */
static int batch(tailcut_store *store, int is_set) {
    tailcut_queue *queue;
    check(tailcut_queue_open(store, ROOM, &queue), "queue");
    int wrong = 0, under_way = 0;
    for (int number = 0; number < ITEMS;) {
        char key[32];
        size_t length = (size_t)snprintf(key, sizeof key, "item %d", number);
        void *user_data = (void *)(uintptr_t)number;
        int status = is_set ? tailcut_submit_set(queue, key, length, &number, sizeof number, NULL, user_data)
                            : tailcut_submit_get(queue, key, length, user_data);
        if (status == TAILCUT_ERROR_BUSY) {
            wrong += take(queue, &under_way);
            continue;
        }
        check(status, "submit");
        number++;
        under_way++;
    }
    while (under_way > 0) {
        wrong += take(queue, &under_way);
    }
    tailcut_queue_close(queue);
    return wrong;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FILE\n", arguments[0]);
        return 2;
    }
    tailcut_store *store = open_store(arguments[1]);
    one_by_one(store);
    printf("batch: %d items, %d wrong\n", ITEMS, batch(store, 1));

    tailcut_statistics statistics = {.size = sizeof statistics};
    check(tailcut_stats(store, &statistics), "statistics");
    printf("statistics: %" PRIu64 " sets, %" PRIu64 " hits, %" PRIu64 " items\n", statistics.sets, statistics.hits,
           statistics.items);
    check(tailcut_close(store), "close");

    store = open_store(arguments[1]);
    printf("again: %d items, %d wrong\n", ITEMS, batch(store, 0));
    check(tailcut_close(store), "close");
    return 0;
}
