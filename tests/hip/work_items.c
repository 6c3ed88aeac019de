/* Launches of kernels on the host: the work items of a block are fibers of one thread, which take turns at barriers, in
   an order by a seed. What a kernel asks of its GPU comes from here: see host.py. */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST 1024
#define STACK (256 * 1024)

typedef void entry(unsigned char *arguments);

static void *scheduler, *items[MOST]; /* stack pointers of those that wait */
static char *stacks;
static unsigned item, grid[3], block[3], group[3];
static int ended[MOST];
static entry *kernel;
static unsigned char *given;

/* Go on with the stack at `to`, until somebody comes back to the one that is kept in `from`. (The C library's own
   swapcontext asks the kernel about signals each time.) */
__attribute__((naked, noinline)) static void change(void **from, void *to)
{
    __asm__("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
            "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
            "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}

/* 0, 1, 2: the place of the item in its block; then of its group; then sizes of a block; then of the grid, in items. */
unsigned host_place(unsigned what)
{
    unsigned k = what % 3;
    unsigned at[3] = {item % block[0], item / block[0] % block[1], item / block[0] / block[1]};
    return what < 3 ? at[k] : what < 6 ? group[k] : what < 9 ? block[k] : grid[k] * block[k];
}

void host_barrier(void)
{
    change(&items[item], scheduler);
}

static void begin(void)
{
    kernel(given);
    ended[item] = 1;
    change(&items[item], scheduler);
}

/* 0; 1 where a barrier is not reached by all items of a block. */
int host_launch(entry *function, unsigned char *arguments, const unsigned *sizes, unsigned seed)
{
    unsigned count = sizes[3] * sizes[4] * sizes[5], order[MOST];
    if (!stacks)
        stacks = mmap(0, (size_t)MOST * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kernel = function;
    given = arguments;
    for (int k = 0; k < 3; k++) {
        grid[k] = sizes[k];
        block[k] = sizes[3 + k];
    }
    for (unsigned k = 0; k < count; k++)
        order[k] = k;
    unsigned long blocks = (unsigned long)grid[0] * grid[1] * grid[2];
    for (unsigned long b = 0; b < blocks; b++) {
        group[0] = b % grid[0];
        group[1] = b / grid[0] % grid[1];
        group[2] = b / grid[0] / grid[1];
        for (unsigned k = 0; k < count; k++) {
            void **top = (void **)(stacks + (size_t)(k + 1) * STACK) - 8;
            memset(top - 6, 0, 14 * sizeof *top); /* what `change` takes from it, and where `begin` would return to */
            *top = (void *)begin;
            items[k] = top - 6;
            ended[k] = 0;
        }
        for (unsigned left = count; left;) {
            for (unsigned k = count - 1; k; k--) {
                seed = seed * 1664525u + 1013904223u;
                unsigned other = (unsigned)(((unsigned long)seed * (k + 1)) >> 32), kept = order[k];
                order[k] = order[other];
                order[other] = kept;
            }
            for (unsigned k = 0; k < count; k++) {
                item = order[k];
                change(&scheduler, items[item]);
            }
            left = 0;
            for (unsigned k = 0; k < count; k++)
                left += !ended[k];
            if (left && left < count)
                return 1;
        }
    }
    return 0;
}
