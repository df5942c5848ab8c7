// What CUDA has in words of its own; the emulator has others for each.

// memory of a block whose size is given at the launch
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ num name[]
#endif

// Copies of 8 and of 16 bytes to shared memory that go on while the thread does. They have arrived for the thread that asked for them when it has
// waited for all of its groups but the last `groups`, and for the block after a barrier.
#ifndef COPY
#define COPY(bytes, to, from) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(bytes) : "memory")
#define END_GROUP() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#endif

// Every kernel waits here for those before it, as the GPU prepares it while the last one ends; tables of plans and primes can be read before. To
// start it sooner, by griddepcontrol.launch_dependents, is slower: blocks that wait keep others from their multiprocessors.
#ifndef AFTER_THE_LAST
#if __CUDA_ARCH__ >= 900
#define AFTER_THE_LAST() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define AFTER_THE_LAST()
#endif
#endif

// a number that all threads of a warp have alike, for the compiler to know
#ifndef UNIFORM
#define UNIFORM(value) __shfl_sync(0xffffffffu, value, 0)
#endif

// the value of the thread whose lane differs by `mask`
#ifndef SHUFFLE
#define SHUFFLE(value, mask) __shfl_xor_sync(THREADS, value, mask)
#endif
#if COLS == 1
#define THREADS 0xffu
#else
#define THREADS 0xffffffffu
#endif
