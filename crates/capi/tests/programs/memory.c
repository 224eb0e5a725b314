/* Everything that is given is given back: for valgrind. */
#include <stdlib.h>
#include <tailcut.h>

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) exit(1);                                                                                \
    } while (0)

int main(void) {
    tailcut_options *options = tailcut_options_new();
    CHECK(tailcut_options_memory(options, 1 << 20) == TAILCUT_OK);
    CHECK(tailcut_options_most_item(options, 1 << 14) == TAILCUT_OK);
    CHECK(tailcut_options_memory_drive(options, 64 << 20) == TAILCUT_OK);
    tailcut_store *store;
    CHECK(tailcut_open(options, &store) == TAILCUT_OK);
    tailcut_options_free(options);
    tailcut_queue *queue;
    CHECK(tailcut_queue_open(store, 16, &queue) == TAILCUT_OK);
    char bytes[8000] = {7};
    for (int number = 0; number < 500; number++) {
        tailcut_value *value;
        tailcut_completion completion;
        size_t count;
        int early = number / 2;
        CHECK(tailcut_set(store, &number, sizeof number, bytes, sizeof bytes, NULL, NULL) == TAILCUT_OK);
        CHECK(tailcut_get(store, &early, sizeof early, &value) >= 0);
        CHECK(value == NULL || *(const char *)tailcut_value_data(value) == 7);
        tailcut_value_free(value);
        CHECK(tailcut_submit_get(queue, &number, sizeof number, NULL) == TAILCUT_OK);
        CHECK(tailcut_wait(queue, &completion, 1, TAILCUT_FOREVER, &count) == TAILCUT_OK && count == 1);
        tailcut_value_free(completion.value);
    }
    CHECK(tailcut_get(store, NULL, 0, &(tailcut_value *){NULL}) == TAILCUT_ERROR_KEY);
    tailcut_queue_close(queue);
    CHECK(tailcut_close(store) == TAILCUT_OK);
    return 0;
}
