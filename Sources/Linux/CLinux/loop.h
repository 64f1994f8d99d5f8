#pragma once

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

// The C library declares these only with _GNU_SOURCE, which Swift's Glibc module is built without.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);

// Swift's hook for jobs that prefer no executor (swift/Runtime/Concurrency.h). The first argument is the job.
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *, void *);
extern __attribute__((swiftcall)) void swift_job_run(void *, void *, void *);

/// The argument of `tasks_redirect`. Swift emits no static variables of C but those in functions.
static inline void (**tasks_take(void))(void *) {
    static void (*take)(void *);
    return &take;
}

static inline __attribute__((swiftcall)) void tasks_enqueue(void *job, void *original) {
    (void)original;
    (*tasks_take())(job);
}

/// Gives the jobs of tasks that prefer no executor to `take`, and no longer to Dispatch.
static inline void tasks_redirect(void (*take)(void *job)) {
    *tasks_take() = take;
    swift_task_enqueueGlobal_hook = tasks_enqueue;
}

/// Runs a job on the calling thread.
static inline void tasks_run(void *job) { swift_job_run(job, 0, 0); }
