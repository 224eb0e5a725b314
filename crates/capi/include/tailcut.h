/*
 * tailcut.h - a key-value store in memory and on flash, within the process that uses it.
 *
 * Items have a key of 1 to 250 bytes and a value, both of any bytes. A store keeps them in memory and on whatever is given to
 * it: files, block devices, arrays of those, or SSDs that are emulated in memory. It has one thread of its own; functions may be
 * called from any number of threads.
 *
 * RESULTS. Functions that return `int` return TAILCUT_OK (0), a positive number for an answer that is none of these two, or a
 * negative one for an error: then nothing has changed and nothing has been written through pointers that were given, unless something else is
 * said, and tailcut_error() says what is wrong and what helps.
 *
 * OWNERSHIP. What a function returns through `tailcut_x **` belongs to the caller, until it is given to tailcut_x_free(),
 * tailcut_close() or tailcut_queue_close(); all of these take NULL, and nothing may be used after. What is given to a function as `const`
 * is copied before it returns.
 *
 * THREADS. A store and a queue may be used by several threads at a time, but nobody may use what somebody closes at the same time.
 * Options, values and completions are used by one thread at a time. After fork() a child must not use what its parent has opened. Threads of the
 * library take no signals but those of their own faults.
 *
 * BINARY INTERFACE. Programs that were built with this header work with every library whose tailcut_abi() is TAILCUT_ABI. Structures that
 * the caller makes begin with their size, so that they can grow.
 */
#ifndef TAILCUT_H
#define TAILCUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the binary interface. */
#define TAILCUT_ABI 0

/* The longest key, in bytes. */
#define TAILCUT_MOST_KEY 250

typedef struct tailcut_options tailcut_options;
typedef struct tailcut_store tailcut_store;
typedef struct tailcut_queue tailcut_queue;
typedef struct tailcut_value tailcut_value;

/* What functions return. */
enum {
    TAILCUT_OK = 0,
    TAILCUT_NOT_FOUND = 1,           /* there is no such item */
    TAILCUT_NOT_STORED = 2,          /* it was not written, as tailcut_write.when says */
    TAILCUT_ERROR_ARGUMENT = -1,     /* an argument cannot be: NULL, not UTF-8, out of range */
    TAILCUT_ERROR_KEY = -2,          /* a key has 1 to 250 bytes */
    TAILCUT_ERROR_TOO_LARGE = -3,    /* larger than tailcut_options_most_item() permits */
    TAILCUT_ERROR_FULL = -4,         /* a store that gives nothing up has no room */
    TAILCUT_ERROR_BUSY = -5,         /* the queue has no room: take completions first */
    TAILCUT_ERROR_UNREADABLE = -6,   /* the drive cannot read the item; whether there is one is not known */
    TAILCUT_ERROR_DRIVE_FAILED = -7, /* the drive takes no writes any more, or answers nothing; of a change: it may be lost */
    TAILCUT_ERROR_CLOSED = -8,       /* the store of the queue is closed */
    TAILCUT_ERROR_OPEN = -9,         /* the store cannot be opened */
    TAILCUT_ERROR_NO_DRIVE = -10,    /* it has no drive of this number */
    TAILCUT_ERROR_STEERED = -11,     /* the array steers its drives by itself */
    TAILCUT_ERROR_UNSUPPORTED = -12, /* the drive does not know the call */
    TAILCUT_ERROR_REFUSED = -13,     /* the values of the call do not fit the drive or its state */
    TAILCUT_ERROR_BUG = -14,         /* of tailcut: please report the message; what has changed is not known */
    TAILCUT_ERROR_SYSTEM = -15       /* the system refuses a descriptor */
};

/*
 * The message of the last call of this thread that has returned an error or NULL; an empty one if none has. It belongs to the library, and stays
 * until the next such call of this thread. Never NULL.
 */
const char *tailcut_error(void);

/* The version of the library, as in "0.1.0". It belongs to the library. */
const char *tailcut_version(void);

/* The version of its binary interface; see TAILCUT_ABI. */
uint32_t tailcut_abi(void);

/* ---- Options ---------------------------------------------------------------------------------------------------------------- */

/* What becomes of items when there is no room. */
enum {
    TAILCUT_CACHE = 0, /* who was not asked for goes first; what is only in memory is gone at the end */
    TAILCUT_STORE = 1  /* nothing goes; what was changed is on its way to the drive within 100 ms, and found again after any end */
};

/* Options as they are if nothing else is said: a cache in 64 MiB of memory only. NULL when there is no memory. */
tailcut_options *tailcut_options_new(void);
void tailcut_options_free(tailcut_options *options);

/* Bytes of memory for items, at most 64 GiB; those of the index (about 15 for each item) come on top. At least four times the next in a cache, sixteen times in a store. */
int tailcut_options_memory(tailcut_options *options, uint64_t bytes);

/* The most bytes of an item with its key and 40 of a header, rounded up to a multiple of 16; 304 to 1 GiB, at first 1 MiB. */
int tailcut_options_most_item(tailcut_options *options, uint64_t bytes);

/* TAILCUT_CACHE or TAILCUT_STORE. */
int tailcut_options_keep(tailcut_options *options, int keep);

/* Not 0: what is changed is durable when the call returns, or its completion comes. Only for a TAILCUT_STORE that has a drive. */
int tailcut_options_durable(tailcut_options *options, int is_durable);

/*
 * Not 0: a new store is made whatever the drives hold, unless that is a store or an array already. If not, what is there is opened; drives of zeros get a new
 * store, and others are left alone.
 */
int tailcut_options_create(tailcut_options *options, int is_new);

/*
 * Not 0: an array is opened degraded although the drives that are missing could be in use as the same array elsewhere. If not, that is
 * refused; an array that is missing fewer drives than that is opened in any case.
 */
int tailcut_options_degraded(tailcut_options *options, int is_accepted);

/* A file or block device, in UTF-8; once for each of several, of which tailcut_options_array() makes one. */
int tailcut_options_device(tailcut_options *options, const char *path);

/* Files that do not exist are made with so many bytes; 0, as at first, for not. */
int tailcut_options_file_bytes(tailcut_options *options, uint64_t bytes);

/* So many small SSDs, emulated in memory with the times of a model, in place of devices; 1 to 64. */
int tailcut_options_emulated(tailcut_options *options, uint32_t drives);

/* Blocks in memory, as many bytes of them, at most 64 GiB, in place of devices: for tests. */
int tailcut_options_memory_drive(tailcut_options *options, uint64_t bytes);

/*
 * The layout of an array over the drives: "raid0", "raid4", "raid5", "epochs" (two copies, reads do not meet writes), "swan0", ..., as the command `tailcut run --keys`
 * lists them under array.layout; with so many groups, which is 1 for all but "swan..." and "epochs".
 */
int tailcut_options_array(tailcut_options *options, const char *layout, uint32_t groups);

/* ---- A store ---------------------------------------------------------------------------------------------------------------- */

/*
 * Opens a store, or makes one, and waits until it is ready. The options are used no more after; NULL for those of tailcut_options_new(). Errors: TAILCUT_ERROR_OPEN; then `*store` is
 * NULL.
 */
int tailcut_open(const tailcut_options *options, tailcut_store **store);

/*
 * Completes what is under way, makes durable what was changed, and gives everything back. TAILCUT_ERROR_DRIVE_FAILED: what was changed
 * last may be lost. The store is closed in any case. Queues stay, and are closed by themselves.
 */
int tailcut_close(tailcut_store *store);

/*
 * Looks for an item. TAILCUT_OK: `*value` is it. TAILCUT_NOT_FOUND, errors: `*value` is NULL.
 */
int tailcut_get(tailcut_store *store, const void *key, size_t key_length, tailcut_value **value);

/* A value: its bytes, which stay until it is freed and are never NULL; how many; what was set beside it; its version. A NULL has none. */
const void *tailcut_value_data(const tailcut_value *value);
size_t tailcut_value_length(const tailcut_value *value);
uint32_t tailcut_value_flags(const tailcut_value *value);
uint64_t tailcut_value_version(const tailcut_value *value);
void tailcut_value_free(tailcut_value *value);

/* When an item is written. */
enum {
    TAILCUT_ALWAYS = 0,
    TAILCUT_IF_ABSENT = 1,
    TAILCUT_IF_PRESENT = 2,
    TAILCUT_IF_VERSION = 3 /* only in place of the item with tailcut_write.version: nobody has changed it since */
};

/* How an item is written. TAILCUT_WRITE_INIT is: whatever is there, for ever. */
typedef struct tailcut_write {
    size_t size;       /* sizeof(tailcut_write) */
    uint32_t flags;    /* a number that is kept beside the value, of which the store makes nothing */
    uint32_t lifetime; /* in seconds by the clock on the wall, of which the first is the one that is running; 0 is for ever */
    uint32_t when;     /* TAILCUT_ALWAYS and so on */
    uint32_t reserved; /* 0 */
    uint64_t version;  /* for TAILCUT_IF_VERSION */
} tailcut_write;

#define TAILCUT_WRITE_INIT { sizeof(tailcut_write), 0, 0, TAILCUT_ALWAYS, 0, 0 }

/*
 * Writes an item. `how` may be NULL, as TAILCUT_WRITE_INIT. TAILCUT_OK: `*version`, unless `version` is NULL, is its version: a number that changes whenever
 * the item does. TAILCUT_NOT_STORED: as `how` says.
 */
int tailcut_set(tailcut_store *store, const void *key, size_t key_length, const void *value, size_t value_length,
                const tailcut_write *how, uint64_t *version);

/* Gives an item another time to live, in seconds as above; 0 is for ever. TAILCUT_OK, TAILCUT_NOT_FOUND. */
int tailcut_touch(tailcut_store *store, const void *key, size_t key_length, uint32_t lifetime);

/* Deletes an item. TAILCUT_OK, TAILCUT_NOT_FOUND. */
int tailcut_delete(tailcut_store *store, const void *key, size_t key_length);

/* Makes durable what was changed before; in a TAILCUT_CACHE, what it has on its drive. */
int tailcut_flush(tailcut_store *store);

/* Forgets all items. */
int tailcut_clear(tailcut_store *store);

/* ---- Asynchronously --------------------------------------------------------------------------------------------------------- */

/*
 * A queue has room for so many operations, from when they are submitted until their completions are taken; 1 to 1048576. Operations that are under way
 * at the same time may take effect and complete in any order; who wants one after the other waits for the first.
 */
int tailcut_queue_open(tailcut_store *store, size_t room, tailcut_queue **queue);

/* Operations under way are carried out, and nobody is told. May be called after tailcut_close(). */
void tailcut_queue_close(tailcut_queue *queue);

/*
 * Hand over an operation, and never wait. If TAILCUT_OK, exactly one completion with this `user_data` will come, even if the store is closed. TAILCUT_ERROR_BUSY
 * if there is no room, TAILCUT_ERROR_CLOSED.
 */
int tailcut_submit_get(tailcut_queue *queue, const void *key, size_t key_length, void *user_data);
int tailcut_submit_set(tailcut_queue *queue, const void *key, size_t key_length, const void *value,
                       size_t value_length, const tailcut_write *how, void *user_data);
int tailcut_submit_touch(tailcut_queue *queue, const void *key, size_t key_length, uint32_t lifetime, void *user_data);
int tailcut_submit_delete(tailcut_queue *queue, const void *key, size_t key_length, void *user_data);
int tailcut_submit_flush(tailcut_queue *queue, void *user_data);

/* An operation has ended. */
typedef struct tailcut_completion {
    void *user_data;      /* of its submission */
    tailcut_value *value; /* of a get that has found one, to be freed; else NULL */
    uint64_t version;     /* of the item, if it was found or written; else 0 */
    int32_t status;       /* what the function that waits would have returned */
    int32_t reserved;     /* 0 */
} tailcut_completion;

/* To be waited for until there is something. */
#define TAILCUT_FOREVER (-1)

/*
 * Takes completions, at most `room`, into `completions`; `*count` are how many these are. Waits for the first one for at most `timeout` nanoseconds, 0 for not at
 * all, TAILCUT_FOREVER; not at all where nothing is under way. Returns TAILCUT_OK, also with none.
 */
int tailcut_wait(tailcut_queue *queue, tailcut_completion *completions, size_t room, int64_t timeout, size_t *count);

/*
 * A descriptor that is readable while there are completions, for poll() and its like; `*descriptor`. It belongs to the queue and goes with it. Who has seen it readable takes
 * completions with a timeout of 0 until there are none.
 */
int tailcut_queue_descriptor(tailcut_queue *queue, int *descriptor);

/* What tailcut_error() would say of a status; it belongs to the library. Never NULL. */
const char *tailcut_status_text(int status);

/* ---- Statistics and control ------------------------------------------------------------------------------------------------- */

/* Counted since the store was opened. */
typedef struct tailcut_statistics {
    size_t size;            /* sizeof(tailcut_statistics), set by the caller; as much as the library knows of it is filled, the rest is 0 */
    uint64_t hits;          /* items looked for and found */
    uint64_t misses;        /* items looked for and not found */
    uint64_t sets;          /* items written */
    uint64_t not_stored;    /* items not written, as tailcut_write.when said */
    uint64_t deletes;       /* items deleted */
    uint64_t touches;       /* items that got another time to live */
    uint64_t errors;        /* operations that have ended with an error */
    uint64_t items;         /* items in it, with those whose time is over and that nobody has come across */
    uint64_t index_bytes;   /* memory of the index */
    uint64_t waiting;       /* operations that wait for the drive at the moment */
    uint64_t drive_bytes;   /* bytes that the drive holds for it; 0 in memory only */
    uint64_t hits_on_flash; /* of the hits, read from the drive */
    uint64_t evicted;       /* items evicted */
    uint64_t expired;       /* items whose time was over when they were come across */
    uint64_t written;       /* bytes appended to the log on the drive, for items written or moved from memory */
    uint64_t copied;        /* bytes copied there for room */
    uint64_t damaged;       /* records on the drive that were not what was written */
} tailcut_statistics;

int tailcut_stats(tailcut_store *store, tailcut_statistics *statistics);

/*
 * What the store is on and how that is, for people, one thing a line: up to `room` bytes with a 0 at their end go to `text`, which may be NULL if `room` is 0. `*length`, unless
 * `length` is NULL, is the length of all of it without the 0.
 */
int tailcut_describe(tailcut_store *store, char *text, size_t room, size_t *length);

/*
 * Calls of the control interface of SSDs (Woong Shin, dissertation, Seoul National University 2017, table 5.1). Real drives have none, emulated ones have. While an array
 * steers its drives itself, they can only be asked (TAILCUT_ERROR_STEERED).
 */
enum {
    TAILCUT_USER_CAPACITY = 1,      /* results[0]: bytes that the host can use */
    TAILCUT_DEVICE_CAPACITY = 2,    /* results[0]: bytes of flash */
    TAILCUT_ERASE_BLOCK_SIZE = 3,   /* results[0]: bytes */
    TAILCUT_FREE_BLOCKS = 4,        /* results[0]: erased blocks */
    TAILCUT_GET_THRESHOLDS = 5,     /* results[0], [1]: free blocks of a plane at which collection begins and ends */
    TAILCUT_SET_THRESHOLDS = 6,     /* values[0], [1]: the same */
    TAILCUT_IS_GC_RUNNING = 7,      /* results[0]: 1 or 0 */
    TAILCUT_RUN_GC = 8,             /* values[0]: collect for so many nanoseconds, or until there is enough; returns at once */
    TAILCUT_SET_WINDOWS = 9,        /* values: collect only in windows; nanoseconds until the first, from one to the next, of each */
    TAILCUT_CLEAR_WINDOWS = 10,     /* collect at any time again */
    TAILCUT_IS_READY_FOR_READ = 11  /* results[0]: 1 when the drive rests, until something is written; 0 while it comes to that: suspends collection */
};

/*
 * Makes a call to the drive of this number, from 0, below the store. `values` are three and `results` two; each may be NULL where the call
 * has none. Besides: TAILCUT_ERROR_NO_DRIVE, TAILCUT_ERROR_UNSUPPORTED, TAILCUT_ERROR_REFUSED.
 */
int tailcut_control(tailcut_store *store, uint32_t drive, uint32_t call, const uint64_t values[3], uint64_t results[2]);

#ifdef __cplusplus
}
#endif

#endif
