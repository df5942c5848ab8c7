// Runs the kernels on a processor of x86-64: the threads of a block take turns, each until the next barrier or exchange of values.

#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

static const unsigned MOST_THREADS = 128;
static const size_t STACK = 1 << 16;

struct Index {
    unsigned x, y, z;
};
struct double2 {
    double x, y;
};

static Index blockIdx, blockDim, gridDim, threadIdx;

// Saves the registers that a function keeps, and the stack in *save; goes on where `to` was saved.
extern "C" void emulator_switch(void** save, void* to);
asm(R"(
.globl emulator_switch
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

static void *threads[MOST_THREADS], *scheduler;
static bool done[MOST_THREADS];
static double exchanged[MOST_THREADS];

static void __syncthreads() {
    unsigned self = threadIdx.x;
    emulator_switch(&threads[self], scheduler);
    threadIdx.x = self;
}

static double shuffle(double x, int mask) {
    unsigned self = threadIdx.x;
    exchanged[self] = x;
    __syncthreads();
    double found = exchanged[self ^ mask];
    __syncthreads();
    return found;
}

static double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

static long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, 8);
    return bits;
}

#define SHUFFLE(value, mask) shuffle(value, mask)
#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#define __ldg(at) (*(at))
using std::floor;
using std::fma;

#include "kernels.cu"

typedef std::function<void(void**)> Kernel;

template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<A>*>(args[I])...);
}

template <class... A>
static Kernel wrapped(void (*kernel)(A...)) {
    return [kernel](void** args) { call(kernel, args, std::index_sequence_for<A...>{}); };
}

#define KERNEL(name) {#name, wrapped(name)}
static const std::map<std::string, Kernel> kernels = {
    KERNEL(rows_inverse), KERNEL(rows_product), KERNEL(rows_combine), KERNEL(columns_forward), KERNEL(columns_scale),
    KERNEL(columns_finish), KERNEL(quotient), KERNEL(product_columns), KERNEL(inner_product), KERNEL(mix_keys),
    KERNEL(add_keys), KERNEL(scale_limbs), KERNEL(sum_limbs),
};

static const Kernel* running;
static void** arguments;

static void thread_main() {
    unsigned self = threadIdx.x;
    (*running)(arguments);
    done[self] = true;
    emulator_switch(&threads[self], scheduler);
}

// 0, or 1 if there is no such kernel or a block is too large.
extern "C" int emulator_launch(const char* name, const unsigned* grid, unsigned block, void** args) {
    auto found = kernels.find(name);
    if (found == kernels.end() || block > MOST_THREADS) return 1;
    running = &found->second;
    arguments = args;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block, 1, 1};
    static std::vector<char> stacks(MOST_THREADS * STACK);
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                for (unsigned t = 0; t < block; t++) {
                    done[t] = false;
                    // the first switch finds six registers and where to begin; a function expects its stack 8 bytes off a multiple of 16
                    size_t top = reinterpret_cast<size_t>(&stacks[(t + 1) * STACK - 64]) & ~static_cast<size_t>(15);
                    void** stack = reinterpret_cast<void**>(top);
                    *--stack = nullptr;
                    *--stack = reinterpret_cast<void*>(thread_main);
                    for (int i = 0; i < 6; i++) *--stack = nullptr;
                    threads[t] = stack;
                }
                for (bool going = true; going;) {
                    going = false;
                    for (unsigned t = 0; t < block; t++)
                        if (!done[t]) {
                            threadIdx.x = t;
                            emulator_switch(&scheduler, threads[t]);
                            going |= !done[t];
                        }
                }
            }
    return 0;
}
