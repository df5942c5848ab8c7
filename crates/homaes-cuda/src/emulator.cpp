// Runs kernels on an x86-64 processor. Workers, one per core, take the blocks of a launch in turn. The threads of a
// block share its worker, and each runs until it must wait.
//
// Warps run until all their threads wait for the block, and half of the blocks run warps and threads from last to
// first. So a missing barrier changes results in one half of the blocks or the other.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

static const unsigned MOST_THREADS = 320, WARP = 32, MOST_ITEMS = 65535;
// not a power of two, so that the stacks of a block do not compete for cache sets
static const size_t STACK = (1 << 16) + 17 * 64;
// bytes of a block's dynamic memory on an H100, and doubles behind it that must not change
static const size_t MOST_SHARED = 227 << 10, GUARD = 64;

// bits of a NaN
static const uint64_t NONE = UINT64_MAX;

struct Index {
    unsigned x, y, z;
};
struct double2 {
    double x, y;
};
struct longlong2 {
    long long x, y;
};

enum State : unsigned char { RUNS, AT_WARP, AT_SHUFFLE, AT_BLOCK, DONE };

// The block that a worker runs.
struct Worker {
    std::vector<char> stacks = std::vector<char>(MOST_THREADS * STACK);
    void *threads[MOST_THREADS], *scheduler;
    State states[MOST_THREADS];
    // values of the last two exchanges, and which one is next: a thread can be one exchange ahead of its warp
    uint64_t exchanged[2][MOST_THREADS];
    bool turn[MOST_THREADS];
    alignas(128) double shared[MOST_SHARED / 8 + GUARD];
};

static thread_local Index blockIdx, blockDim, gridDim, threadIdx;
static thread_local Worker* worker;

// Saves callee-saved registers and the stack in *save; continues where `to` was saved.
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

static void pause(State state) {
    unsigned self = threadIdx.x;
    worker->states[self] = state;
    emulator_switch(&worker->threads[self], worker->scheduler);
    threadIdx.x = self;
}

static void __syncwarp() { pause(AT_WARP); }

static void __syncthreads() { pause(AT_BLOCK); }

template <class T>
static T shuffle(T x, unsigned mask) {
    static_assert(sizeof(T) == 8, "a shuffle of values of 8 bytes");
    unsigned self = threadIdx.x, other = self ^ mask;
    bool turn = worker->turn[self];
    worker->turn[self] = !turn;
    memcpy(&worker->exchanged[turn][self], &x, 8);
    pause(AT_SHUFFLE);
    memcpy(&x, mask < WARP ? &worker->exchanged[turn][other] : &NONE, 8);
    return x;
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

static unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned __int128)x * y >> 64;
}

#define SHUFFLE(value, mask) shuffle(value, mask)
#define DYNAMIC_SHARED(name) num* name = reinterpret_cast<num*>(worker->shared)
#define __device__
#define __global__
#define __constant__
#define UNIFORM(value) (value)
#define AFTER_THE_LAST()
#define COPY(bytes, to, from) memcpy(to, from, bytes)
#define END_GROUP()
#define WAIT_FOR_ALL_BUT(groups)
#define __grid_constant__
#define __shared__ static thread_local
#define __launch_bounds__(...)
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

#define KERNEL(name) {#name, wrapped(name)},
static const std::map<std::string, Kernel> kernels = {
#include "names.h"
};

struct Launch {
    const Kernel* kernel;
    void** args;
    Index grid;
    unsigned block;
    size_t shared;
    // whether the first block runs from last to first
    bool falling;
    std::atomic<unsigned> next{0};
    std::atomic<const char*> fault{nullptr};
};

static thread_local const Launch* running;

static void thread_main() {
    (*running->kernel)(running->args);
    pause(DONE);
}

// Runs the threads of a warp until all wait for the block or are done; false if they wait for each other.
static bool run_warp(Worker& w, unsigned first, unsigned end, bool falling) {
    for (;;) {
        unsigned waiting[DONE + 1] = {};
        for (unsigned i = first; i < end; i++) {
            unsigned t = falling ? first + end - 1 - i : i;
            if (w.states[t] == RUNS) {
                threadIdx.x = t;
                emulator_switch(&w.scheduler, w.threads[t]);
            }
            waiting[w.states[t]]++;
        }
        unsigned all = end - first - waiting[DONE];
        if (waiting[AT_BLOCK] == all) return true;
        if (waiting[AT_WARP] != all && waiting[AT_SHUFFLE] != all) return false;
        for (unsigned t = first; t < end; t++) {
            if (w.states[t] == DONE)
                w.exchanged[0][t] = w.exchanged[1][t] = NONE;
            else
                w.states[t] = RUNS;
        }
    }
}

// Returns why a block failed, or null.
static const char* run_block(Worker& w, const Launch& launch, bool falling) {
    memset(w.shared, 0xff, launch.shared + 8 * GUARD);
    for (auto& values : w.exchanged) std::fill(values, values + MOST_THREADS, NONE);
    for (unsigned t = 0; t < launch.block; t++) {
        w.states[t] = RUNS;
        w.turn[t] = false;
        // the first switch pops six registers and the entry point; functions expect the stack 8 bytes off 16
        size_t top = reinterpret_cast<size_t>(&w.stacks[(t + 1) * STACK - 64]) & ~static_cast<size_t>(15);
        void** stack = reinterpret_cast<void**>(top);
        *--stack = nullptr;
        *--stack = reinterpret_cast<void*>(thread_main);
        for (int i = 0; i < 6; i++) *--stack = nullptr;
        w.threads[t] = stack;
    }
    unsigned warps = (launch.block + WARP - 1) / WARP;
    for (bool going = true; going;) {
        for (unsigned i = 0; i < warps; i++) {
            unsigned first = WARP * (falling ? warps - 1 - i : i);
            if (!run_warp(w, first, std::min(first + WARP, launch.block), falling))
                return "the threads of a warp wait for each other at different places";
        }
        going = false;
        for (unsigned t = 0; t < launch.block; t++)
            if (w.states[t] != DONE) {
                w.states[t] = RUNS;
                going = true;
            }
    }
    const char* guard = reinterpret_cast<const char*>(w.shared) + launch.shared;
    for (size_t i = 0; i < 8 * GUARD; i++)
        if (guard[i] != static_cast<char>(0xff)) return "a block writes beyond its shared memory";
    return nullptr;
}

static void work(Worker& w, Launch& launch) {
    worker = &w;
    running = &launch;
    gridDim = launch.grid;
    blockDim = {launch.block, 1, 1};
    unsigned x = launch.grid.x, y = launch.grid.y, blocks = x * y * launch.grid.z;
    for (unsigned i; (i = launch.next++) < blocks && !launch.fault;) {
        blockIdx = {i % x, i / x % y, i / x / y};
        const char* fault = run_block(w, launch, launch.falling ^ (i & 1));
        if (fault) launch.fault = fault;
    }
}

// Runs a kernel, one launch at a time. Returns why it cannot, or null.
extern "C" const char* emulator_launch(
    const char* name, const unsigned* grid, unsigned block, size_t shared, bool falling, void** args) {
    auto found = kernels.find(name);
    if (found == kernels.end()) return "there is no such kernel";
    if (block > MOST_THREADS || shared > MOST_SHARED || grid[1] > MOST_ITEMS || grid[2] > MOST_ITEMS)
        return "a grid, a block or its memory is too large";
    Launch launch{&found->second, args, {grid[0], grid[1], grid[2]}, block, shared, falling};
    static std::vector<std::unique_ptr<Worker>> workers;
    // starting a thread for a few blocks would take longer than they do
    size_t most = 1 + size_t(grid[0]) * grid[1] * grid[2] * block / 2048;
    size_t count = std::min<size_t>(most, std::max(1u, std::thread::hardware_concurrency()));
    while (workers.size() < count) workers.push_back(std::make_unique<Worker>());
    std::vector<std::thread> others;
    for (size_t i = 1; i < count; i++) others.emplace_back([&, i] { work(*workers[i], launch); });
    work(*workers[0], launch);
    for (auto& other : others) other.join();
    return launch.fault;
}
