// CUDA's own constructs; the emulator defines replacements.

// a block's memory, with its size given at the launch
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ num name[]
#endif

// Asynchronous copies of 8 or 16 bytes to shared memory. After a wait for all groups but the last `groups` they have
// arrived for the thread that issued them, after a barrier for the block.
#ifndef COPY
#define COPY(bytes, to, from) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(bytes) : "memory")
#define END_GROUP() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#endif

// Every kernel waits here for the earlier ones, as the GPU prepares it before the last one ends. Tables of plans and
// primes may be read sooner. griddepcontrol.launch_dependents is slower: waiting blocks keep others off
// multiprocessors.
#ifndef AFTER_THE_LAST
#if __CUDA_ARCH__ >= 900
#define AFTER_THE_LAST() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define AFTER_THE_LAST()
#endif
#endif

// tells the compiler that all threads of a warp have the same value
#ifndef UNIFORM
#define UNIFORM(value) __shfl_sync(0xffffffffu, value, 0)
#endif

// the value of the thread whose lane differs by `mask`
#ifndef SHUFFLE
#define SHUFFLE(value, mask) __shfl_xor_sync(THREADS, value, mask)
#endif
#if COLS == 1
#define THREADS (HALVES == 1 ? 0xffu : 0xffffu)
#else
#define THREADS 0xffffffffu
#endif
