/* Whatever a caller gets wrong at the border is an error with a message, and the store goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailcut.h>

#define IS(call, status)                                                                                     \
    do {                                                                                                     \
        int is_ = (call);                                                                                    \
        if (is_ != (status)) {                                                                               \
            fprintf(stderr, "line %d: %d and not %d: %s\n", __LINE__, is_, (status), tailcut_error());       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* It fails in this way, and says this. */
#define SAYS(call, status, text)                                                                             \
    do {                                                                                                     \
        IS(call, status);                                                                                    \
        if (strstr(tailcut_error(), (text)) == NULL) {                                                       \
            fprintf(stderr, "line %d: %s\n", __LINE__, tailcut_error());                                     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define TRUE(what) IS((what) ? 1 : 0, 1)

static void options(const char *folder) {
    tailcut_store *store = (tailcut_store *)1;
    tailcut_options *wrong = tailcut_options_new();
    SAYS(tailcut_options_memory(NULL, 1), TAILCUT_ERROR_ARGUMENT, "options is NULL");
    SAYS(tailcut_options_device(wrong, NULL), TAILCUT_ERROR_ARGUMENT, "path is NULL");
    SAYS(tailcut_options_device(wrong, "\xff"), TAILCUT_ERROR_ARGUMENT, "UTF-8");
    SAYS(tailcut_options_device(wrong, ""), TAILCUT_ERROR_ARGUMENT, "empty");
    SAYS(tailcut_options_keep(wrong, 2), TAILCUT_ERROR_ARGUMENT, "TAILCUT_CACHE");
    SAYS(tailcut_options_emulated(wrong, 0), TAILCUT_ERROR_ARGUMENT, "1 to 64");
    SAYS(tailcut_options_array(wrong, "raid6", 1), TAILCUT_ERROR_ARGUMENT, "raid5");
    IS(tailcut_options_array(wrong, "epochs", 2), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "needs drives");
    TRUE(store == NULL);
    tailcut_options_free(wrong);

    wrong = tailcut_options_new();
    IS(tailcut_options_memory(wrong, UINT64_MAX), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "at most");
    IS(tailcut_options_memory(wrong, 64 << 20), TAILCUT_OK);
    IS(tailcut_options_most_item(wrong, UINT64_MAX), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "at most");
    IS(tailcut_options_most_item(wrong, 1 << 20), TAILCUT_OK);
    IS(tailcut_options_durable(wrong, 1), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "durable");
    IS(tailcut_options_durable(wrong, 0), TAILCUT_OK);
    IS(tailcut_options_memory_drive(wrong, UINT64_MAX), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "at most");
    IS(tailcut_options_device(wrong, "/nowhere/at all"), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "exclude");
    IS(tailcut_options_memory_drive(wrong, 0), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "/nowhere/at all");
    IS(tailcut_options_device(wrong, folder), TAILCUT_OK);
    SAYS(tailcut_open(wrong, &store), TAILCUT_ERROR_OPEN, "tailcut_options_array");
    SAYS(tailcut_open(wrong, NULL), TAILCUT_ERROR_ARGUMENT, "store is NULL");
    tailcut_options_free(wrong);
    tailcut_options_free(NULL);
}

static void operations(tailcut_store *store) {
    char long_key[251] = {0};
    static char large[2 << 20];
    tailcut_value *value = (tailcut_value *)1;
    SAYS(tailcut_set(NULL, "k", 1, "v", 1, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "store is NULL");
    SAYS(tailcut_set(store, NULL, 1, "v", 1, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "key is NULL");
    SAYS(tailcut_set(store, NULL, 0, "v", 1, NULL, NULL), TAILCUT_ERROR_KEY, "1 to 250");
    SAYS(tailcut_set(store, "k", 0, "v", 1, NULL, NULL), TAILCUT_ERROR_KEY, "has 0");
    SAYS(tailcut_set(store, long_key, 251, "v", 1, NULL, NULL), TAILCUT_ERROR_KEY, "has 251");
    SAYS(tailcut_set(store, "k", 1, NULL, 1, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "value is NULL");
    SAYS(tailcut_set(store, "k", 1, "v", SIZE_MAX, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "cannot be");
    SAYS(tailcut_set(store, "k", 1, large, sizeof large, NULL, NULL), TAILCUT_ERROR_TOO_LARGE, "too large");
    IS(tailcut_get(store, "k", 1, &value), TAILCUT_NOT_FOUND);
    TRUE(value == NULL);
    SAYS(tailcut_get(store, "k", 1, NULL), TAILCUT_ERROR_ARGUMENT, "value is NULL");
    SAYS(tailcut_get(store, long_key, 251, &value), TAILCUT_ERROR_KEY, "has 251");
    SAYS(tailcut_delete(store, NULL, 0), TAILCUT_ERROR_KEY, "has 0");
    SAYS(tailcut_touch(NULL, "k", 1, 0), TAILCUT_ERROR_ARGUMENT, "store is NULL");
    SAYS(tailcut_flush(NULL), TAILCUT_ERROR_ARGUMENT, "store is NULL");
    IS(tailcut_delete(store, "k", 1), TAILCUT_NOT_FOUND);
    IS(tailcut_touch(store, "k", 1, 9), TAILCUT_NOT_FOUND);

    tailcut_write how = TAILCUT_WRITE_INIT;
    how.size = 4;
    SAYS(tailcut_set(store, "k", 1, "v", 1, &how, NULL), TAILCUT_ERROR_ARGUMENT, "TAILCUT_WRITE_INIT");
    how.size = sizeof how;
    how.when = 4;
    SAYS(tailcut_set(store, "k", 1, "v", 1, &how, NULL), TAILCUT_ERROR_ARGUMENT, "when");
    how.when = TAILCUT_IF_PRESENT;
    uint64_t version = 77;
    IS(tailcut_set(store, "k", 1, "v", 1, &how, &version), TAILCUT_NOT_STORED);
    TRUE(version == 77);

    /* An empty value may have no place, and any bytes are a key. */
    IS(tailcut_set(store, long_key, 250, NULL, 0, NULL, &version), TAILCUT_OK);
    TRUE(version != 77);
    IS(tailcut_get(store, long_key, 250, &value), TAILCUT_OK);
    TRUE(tailcut_value_length(value) == 0 && tailcut_value_data(value) != NULL);
    TRUE(tailcut_value_version(value) == version);
    tailcut_value_free(value);
    tailcut_value_free(NULL);
    TRUE(tailcut_value_length(NULL) == 0 && tailcut_value_flags(NULL) == 0);
    TRUE(tailcut_value_version(NULL) == 0 && tailcut_value_data(NULL) != NULL);
}

static void queues(tailcut_store *store) {
    tailcut_queue *queue = (tailcut_queue *)1;
    tailcut_completion completions[4];
    size_t count = 77;
    SAYS(tailcut_queue_open(NULL, 1, &queue), TAILCUT_ERROR_ARGUMENT, "store is NULL");
    SAYS(tailcut_queue_open(store, 0, &queue), TAILCUT_ERROR_ARGUMENT, "1 to");
    TRUE(queue == NULL);
    SAYS(tailcut_queue_open(store, SIZE_MAX, &queue), TAILCUT_ERROR_ARGUMENT, "1 to");
    IS(tailcut_queue_open(store, 2, &queue), TAILCUT_OK);
    SAYS(tailcut_submit_get(queue, "", 0, NULL), TAILCUT_ERROR_KEY, "has 0");
    SAYS(tailcut_submit_set(queue, "k", 1, NULL, 9, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "value is NULL");
    SAYS(tailcut_submit_get(NULL, "k", 1, NULL), TAILCUT_ERROR_ARGUMENT, "queue is NULL");
    SAYS(tailcut_wait(queue, NULL, 4, 0, &count), TAILCUT_ERROR_ARGUMENT, "room");
    SAYS(tailcut_wait(queue, completions, 0, 0, &count), TAILCUT_ERROR_ARGUMENT, "room");
    SAYS(tailcut_wait(queue, completions, 4, -2, &count), TAILCUT_ERROR_ARGUMENT, "timeout");
    SAYS(tailcut_wait(queue, completions, 4, 0, NULL), TAILCUT_ERROR_ARGUMENT, "count is NULL");
    TRUE(count == 77);
    /* What was refused has taken no room, and nothing is under way: nobody waits. */
    IS(tailcut_wait(queue, completions, 4, TAILCUT_FOREVER, &count), TAILCUT_OK);
    TRUE(count == 0);
    int descriptor = -1;
    SAYS(tailcut_queue_descriptor(queue, NULL), TAILCUT_ERROR_ARGUMENT, "descriptor is NULL");
    SAYS(tailcut_queue_descriptor(NULL, &descriptor), TAILCUT_ERROR_ARGUMENT, "queue is NULL");
    IS(tailcut_queue_descriptor(queue, &descriptor), TAILCUT_OK);
    TRUE(descriptor >= 0);
    IS(tailcut_submit_set(queue, "q", 1, "1", 1, NULL, completions), TAILCUT_OK);
    IS(tailcut_submit_flush(queue, NULL), TAILCUT_OK);
    SAYS(tailcut_submit_delete(queue, "q", 1, NULL), TAILCUT_ERROR_BUSY, "full");
    int seen = 0;
    while (seen < 2) {
        IS(tailcut_wait(queue, completions, 1, INT64_MAX, &count), TAILCUT_OK);
        TRUE(count == 1 && completions[0].status == TAILCUT_OK && completions[0].value == NULL);
        TRUE((completions[0].user_data == completions) == (completions[0].version != 0));
        seen++;
    }
    /* Nobody takes these. */
    IS(tailcut_submit_get(queue, "q", 1, NULL), TAILCUT_OK);
    tailcut_queue_close(queue);
    tailcut_queue_close(NULL);
}

static void figures(tailcut_store *store) {
    tailcut_statistics statistics = {.size = 1};
    SAYS(tailcut_stats(store, &statistics), TAILCUT_ERROR_ARGUMENT, "sizeof(tailcut_statistics)");
    SAYS(tailcut_stats(store, NULL), TAILCUT_ERROR_ARGUMENT, "statistics is NULL");
    /* A program that was built when the structure was shorter. */
    memset(&statistics, 0xee, sizeof statistics);
    statistics.size = offsetof(tailcut_statistics, misses);
    IS(tailcut_stats(store, &statistics), TAILCUT_OK);
    TRUE(statistics.hits == 1 && statistics.misses == UINT64_C(0xeeeeeeeeeeeeeeee));
    /* One that was built when it was longer. */
    struct { tailcut_statistics known; uint64_t new; } longer;
    longer.known.size = sizeof longer;
    longer.new = 7;
    IS(tailcut_stats(store, &longer.known), TAILCUT_OK);
    TRUE(longer.new == 0 && longer.known.misses > 0);

    char text[8] = "xxxxxxx";
    size_t length = 0;
    SAYS(tailcut_describe(store, NULL, 1, &length), TAILCUT_ERROR_ARGUMENT, "text is NULL");
    IS(tailcut_describe(store, NULL, 0, &length), TAILCUT_OK);
    TRUE(length > 8);
    IS(tailcut_describe(store, text, sizeof text, NULL), TAILCUT_OK);
    TRUE(strlen(text) == 7 && strncmp(text, "drive", 5) == 0);
}

static void control(tailcut_store *store) {
    uint64_t values[3] = {UINT64_MAX, 0, 0}, results[2] = {77, 77};
    SAYS(tailcut_control(store, 0, 0, values, results), TAILCUT_ERROR_ARGUMENT, "no call 0");
    SAYS(tailcut_control(store, 0, TAILCUT_SET_WINDOWS, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "values are NULL");
    SAYS(tailcut_control(store, 0, TAILCUT_RUN_GC, values, NULL), TAILCUT_ERROR_ARGUMENT, "too far");
    SAYS(tailcut_control(store, 0, TAILCUT_SET_THRESHOLDS, values, NULL), TAILCUT_ERROR_ARGUMENT, "blocks");
    SAYS(tailcut_control(store, 0, TAILCUT_FREE_BLOCKS, NULL, NULL), TAILCUT_ERROR_ARGUMENT, "results are NULL");
    SAYS(tailcut_control(store, 9, TAILCUT_FREE_BLOCKS, NULL, results), TAILCUT_ERROR_NO_DRIVE, "no drive 9");
    values[0] = 9, values[1] = 2;
    SAYS(tailcut_control(store, 0, TAILCUT_SET_THRESHOLDS, values, NULL), TAILCUT_ERROR_REFUSED, "do not fit");
    TRUE(results[0] == 77);
    IS(tailcut_control(store, 0, TAILCUT_FREE_BLOCKS, NULL, results), TAILCUT_OK);
    TRUE(results[0] > 0 && results[0] != 77);
    IS(tailcut_control(store, 0, TAILCUT_GET_THRESHOLDS, NULL, results), TAILCUT_OK);
    values[0] = results[0], values[1] = results[1];
    IS(tailcut_control(store, 0, TAILCUT_SET_THRESHOLDS, values, NULL), TAILCUT_OK);
    values[0] = 0, values[1] = 4000000, values[2] = 1000000;
    IS(tailcut_control(store, 0, TAILCUT_SET_WINDOWS, values, NULL), TAILCUT_OK);
    IS(tailcut_control(store, 0, TAILCUT_CLEAR_WINDOWS, NULL, NULL), TAILCUT_OK);
    values[0] = 1000;
    IS(tailcut_control(store, 0, TAILCUT_RUN_GC, values, NULL), TAILCUT_OK);
    IS(tailcut_control(store, 0, TAILCUT_IS_GC_RUNNING, NULL, results), TAILCUT_OK);
    IS(tailcut_control(store, 0, TAILCUT_IS_READY_FOR_READ, NULL, results), TAILCUT_OK);
    TRUE(results[0] <= 1);
}

int main(int count, char **arguments) {
    TRUE(count == 2 && strcmp(tailcut_error(), "") == 0 && tailcut_abi() == TAILCUT_ABI);
    options(arguments[1]);
    tailcut_options *options = tailcut_options_new();
    IS(tailcut_options_emulated(options, 1), TAILCUT_OK);
    tailcut_store *store;
    IS(tailcut_open(options, &store), TAILCUT_OK);
    tailcut_options_free(options);
    operations(store);
    figures(store);
    queues(store);
    control(store);

    /* A queue outlives its store, and says so. */
    tailcut_queue *queue;
    tailcut_completion completion;
    size_t taken;
    IS(tailcut_queue_open(store, 2, &queue), TAILCUT_OK);
    IS(tailcut_submit_set(queue, "k", 1, "v", 1, NULL, arguments), TAILCUT_OK);
    IS(tailcut_close(store), TAILCUT_OK);
    SAYS(tailcut_submit_get(queue, "k", 1, NULL), TAILCUT_ERROR_CLOSED, "closed");
    IS(tailcut_wait(queue, &completion, 1, TAILCUT_FOREVER, &taken), TAILCUT_OK);
    TRUE(taken == 1 && completion.user_data == arguments && completion.status == TAILCUT_OK);
    IS(tailcut_wait(queue, &completion, 1, TAILCUT_FOREVER, &taken), TAILCUT_OK);
    TRUE(taken == 0);
    tailcut_queue_close(queue);
    IS(tailcut_close(NULL), TAILCUT_OK);
    TRUE(strcmp(tailcut_status_text(TAILCUT_OK), "done") == 0 && strlen(tailcut_status_text(99)) > 0);
    return 0;
}
