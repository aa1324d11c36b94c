/* clock.c: a wall clock that is wrong as told, preloaded into redis-server (LD_PRELOAD).
 *
 * The file named by LOCKBENCH_CLOCK is mapped; lockbench writes there how wrong. CLOCK_MONOTONIC stays true: the server's
 * event loop runs by it, and a jump there would be another fault than the one asked for.
 *
 * It needs nothing but what the process has already: no dlsym, which allocates, while jemalloc asks for the time when it
 * starts; and no libc of its own (-nostdlib), so that one object serves a glibc and a musl image. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct shift {
	uint64_t sequence; /* odd while it is being written */
	int64_t since;     /* ns since 1970 by the true clock */
	int64_t offset;    /* ns by which the clock is ahead at that moment */
	double drift;      /* ns by which it gains on every ns since */
};

static const volatile struct shift *shared;

static void __attribute__((constructor)) attach(void)
{
	const char *path = getenv("LOCKBENCH_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof(struct shift), PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		shared = page;
	close(fd);
}

static int64_t now(void)
{
	struct timespec t;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
	int64_t ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (!shared)
		return ns;
	for (;;) {
		uint64_t before = __atomic_load_n(&shared->sequence, __ATOMIC_ACQUIRE);
		int64_t since = shared->since, offset = shared->offset;
		double drift = shared->drift;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && before == __atomic_load_n(&shared->sequence, __ATOMIC_RELAXED))
			return ns + offset + (int64_t)((double)(ns - since) * drift);
	}
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return (int)syscall(SYS_clock_gettime, clock, t);
	int64_t ns = now();
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	(void)zone;
	int64_t ns = now();
	t->tv_sec = ns / 1000000000;
	t->tv_usec = ns % 1000000000 / 1000;
	return 0;
}

time_t time(time_t *t)
{
	time_t s = now() / 1000000000;
	if (t)
		*t = s;
	return s;
}
