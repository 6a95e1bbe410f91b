#pragma once
#include "../../core/config.hpp"
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace l3::inline v0::cpu {

/// The floating-point mode of l3's arithmetic on this thread while it lives: round to nearest, exceptions masked,
/// subnormals are zero (flush-to-zero, denormals-are-zero). Restores the whole control word, also when unwinding.
/// Compilers may move arithmetic across its constructor and destructor: keep both in a noinline function, and the
/// arithmetic in another below it, as in_float_mode does.
class FloatMode {
  public:
    FloatMode() : saved_(read()) { write(ours); }
    ~FloatMode() { write(saved_); }
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

    /// The control word of this thread: MXCSR, or FPCR.
    [[nodiscard]] static std::uint64_t read() {
#if defined(__x86_64__)
        return _mm_getcsr();
#else
        std::uint64_t word;
        asm volatile("mrs %0, fpcr" : "=r"(word));
        return word;
#endif
    }

  private:
#if defined(__x86_64__)
    static constexpr std::uint64_t ours = 0x1F80 | 0x8040;  // all exceptions masked; FTZ and DAZ
    static void write(std::uint64_t word) { _mm_setcsr(static_cast<unsigned>(word)); }
#else
    static constexpr std::uint64_t ours = std::uint64_t{1} << 24;  // FZ
    static void write(std::uint64_t word) { asm volatile("msr fpcr, %0" ::"r"(word) : "memory"); }
#endif
    std::uint64_t saved_;
};

namespace detail {

template <class F>
L3_NOINLINE void call(void* f) {
    (*static_cast<F*>(f))();
}

L3_NOINLINE inline void call_in_float_mode(void (*function)(void*), void* data) {
    const FloatMode mode;
    function(data);
}

}  // namespace detail

/// Calls f() in l3's floating-point mode.
template <class F>
void in_float_mode(const F& f) {
    detail::call_in_float_mode(&detail::call<const F>, const_cast<F*>(&f));
}

}  // namespace l3::inline v0::cpu
