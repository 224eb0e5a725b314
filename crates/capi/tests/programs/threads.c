/* Threads with queues of their own work on one store: every operation completes once, and to whoever has submitted it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailcut.h>

enum { THREADS = 4, OPERATIONS = 20000, KEYS = 500, ROOM = 32 };

static tailcut_store *store;

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, tailcut_error());                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct key {
    int thread, number;
};

/* What a thread knows of its keys: whether there is an item, and which one; nothing else is under way for a key. */
struct known {
    struct key key;
    int value, is_there, is_under_way, is_get;
    unsigned seen;
};

static int take(tailcut_queue *queue) {
    tailcut_completion completions[ROOM];
    size_t count;
    CHECK(tailcut_wait(queue, completions, ROOM, TAILCUT_FOREVER, &count) == TAILCUT_OK);
    for (size_t at = 0; at < count; at++) {
        struct known *known = completions[at].user_data;
        CHECK(known->is_under_way);
        known->is_under_way = 0;
        known->seen++;
        if (!known->is_get) {
            CHECK(completions[at].status == TAILCUT_OK && completions[at].version != 0);
            continue;
        }
        CHECK(completions[at].status == (known->is_there ? TAILCUT_OK : TAILCUT_NOT_FOUND));
        tailcut_value *value = completions[at].value;
        CHECK((value != NULL) == known->is_there);
        CHECK(value == NULL || memcmp(tailcut_value_data(value), &known->value, sizeof known->value) == 0);
        tailcut_value_free(value);
    }
    return (int)count;
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument, under_way = 0;
    struct known *all = calloc(KEYS, sizeof *all);
    tailcut_queue *queue;
    CHECK(tailcut_queue_open(store, ROOM, &queue) == TAILCUT_OK);
    unsigned random = 1 + (unsigned)thread, submitted = 0;
    while (submitted < OPERATIONS) {
        random = random * 1664525 + 1013904223;
        int number = (int)(random >> 8) % KEYS;
        struct known *known = &all[number];
        if (known->is_under_way) {
            under_way -= take(queue);
            continue;
        }
        known->key = (struct key){thread, number};
        known->is_get = random >> 31;
        known->is_under_way = 1;
        int value = known->is_get ? known->value : (int)random;
        int status = known->is_get
            ? tailcut_submit_get(queue, &known->key, sizeof known->key, known)
            : tailcut_submit_set(queue, &known->key, sizeof known->key, &value, sizeof value, NULL, known);
        if (status == TAILCUT_ERROR_BUSY) {
            known->is_under_way = 0;
            under_way -= take(queue);
            continue;
        }
        CHECK(status == TAILCUT_OK);
        known->value = value;
        known->is_there |= !known->is_get;
        submitted++;
        under_way++;
    }
    while (under_way > 0) {
        under_way -= take(queue);
    }
    unsigned seen = 0;
    for (int number = 0; number < KEYS; number++) {
        seen += all[number].seen;
    }
    CHECK(seen == OPERATIONS && under_way == 0);
    tailcut_queue_close(queue);
    free(all);
    return NULL;
}

int main(void) {
    tailcut_options *options = tailcut_options_new();
    CHECK(tailcut_options_memory_drive(options, 64 << 20) == TAILCUT_OK);
    CHECK(tailcut_options_keep(options, TAILCUT_STORE) == TAILCUT_OK);
    CHECK(tailcut_open(options, &store) == TAILCUT_OK);
    tailcut_options_free(options);
    pthread_t threads[THREADS];
    for (intptr_t thread = 0; thread < THREADS; thread++) {
        CHECK(pthread_create(&threads[thread], NULL, work, (void *)thread) == 0);
    }
    for (int thread = 0; thread < THREADS; thread++) {
        CHECK(pthread_join(threads[thread], NULL) == 0);
    }
    CHECK(tailcut_close(store) == TAILCUT_OK);
    return 0;
}
