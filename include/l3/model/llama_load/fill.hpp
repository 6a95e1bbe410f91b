#pragma once
#include "../../device/cpu/context.hpp"
#include "../../io/convert.hpp"
#include "../llama_weights.hpp"
#include <functional>
#include <set>
#include <unistd.h>

namespace l3::inline v0 {

/// Called while weights are brought into memory, on the thread that loads: with 0 first, then growing values, 1 last.
/// Returning false cancels.
using Progress = std::function<bool(double)>;

struct LoadOptions {
    Progress progress{};
    /// Bring what is used in place into memory now instead of when it is touched first. Not done for files larger than
    /// the machine's memory.
    bool prefault = true;
};

namespace loading {

/// Fills views of weights: with the tensor where it lies, or with a converted copy. First all are noted, then run()
/// allocates and converts.
template <DType T>
class Fill {
  public:
    /// head_rows: 0, or the rows of a head, which are in interleaved rotary order.
    void matrix(TensorView<const T, CPU>& to, const io::StoredTensor& from, Index head_rows) {
        if (head_rows == 0 && io::usable_in_place<T>(from)) place<T>(to, from);
        else matrices_.push_back({&to, &from, head_rows});
    }
    void vector(TensorView<const f32, CPU>& to, const io::StoredTensor& from, Index head_rows) {
        if (head_rows == 0 && io::usable_in_place<f32>(from)) place<f32>(to, from);
        else vectors_.push_back({&to, &from, head_rows});
    }

    void run(Context<CPU>& ctx, LlamaWeights<T, CPU>& weights, const LoadOptions& options) {
        for (const Copy<T>& m : matrices_) weights.copied_bytes += std::uint64_t(m.from->shape.numel()) * sizeof(T);
        for (const Copy<f32>& v : vectors_) weights.copied_bytes += std::uint64_t(v.from->shape.numel()) * sizeof(f32);
        std::uint64_t in_place = 0;
        for (const io::StoredTensor* t : placed_) in_place += t->data.size();
        weights.in_place_bytes = in_place;
        const bool prefault = options.prefault && in_place < physical_memory();
        total_ = weights.copied_bytes + (prefault ? in_place : 0);

        report(options, 0);
        weights.vectors = allocate<f32>(vectors_);
        weights.matrices = allocate<T>(matrices_);
        for (std::size_t i = 0; i < vectors_.size(); ++i)
            ctx.serial([&] { copy_vector(vectors_[i], weights.vectors[i]); });
        for (std::size_t i = 0; i < matrices_.size(); ++i) copy_matrix(ctx, matrices_[i], weights.matrices[i], options);
        for (const io::StoredTensor* t : placed_)
            if (prefault) touch(ctx, *t, options);
        std::set<const io::MappedFile*> held;
        for (const io::StoredTensor* t : placed_)
            if (held.insert(t->file.get()).second) weights.files.push_back(t->file);
        if (options.progress && last_ < 1) report(options, 1);
    }

  private:
    template <class E>
    struct Copy {
        TensorView<const E, CPU>* to;
        const io::StoredTensor* from;
        Index head_rows;
    };
    static constexpr Index piece_bytes = Index{32} << 20;  // between two calls of progress
    static constexpr Index grain_bytes = Index{64} << 10;  // of a thread at a time

    template <class E>
    void place(TensorView<const E, CPU>& to, const io::StoredTensor& from) {
        to = {reinterpret_cast<const E*>(from.data.data()), from.shape};
        placed_.push_back(&from);
    }

    template <class E>
    static std::vector<Tensor<E, CPU>> allocate(const std::vector<Copy<E>>& copies) {
        std::vector<Tensor<E, CPU>> tensors;
        tensors.reserve(copies.size());
        for (const Copy<E>& c : copies) {
            *c.to = tensors.emplace_back(c.from->shape);
            prefer_huge_pages(tensors.back().data(), tensors.back().nbytes());
        }
        return tensors;
    }

    /// Where row r of the half-split order stands among rows in interleaved order: pairs (i, i + Dh/2) were (2i, 2i+1).
    static Index interleaved_row(Index r, Index head_rows) {
        const Index head = r / head_rows, i = r % head_rows, half = head_rows / 2;
        return head * head_rows + i % half * 2 + i / half;
    }

    void copy_matrix(Context<CPU>& ctx, const Copy<T>& c, Tensor<T, CPU>& to, const LoadOptions& options) {
        const Index row_bytes = to.cols() * Index{sizeof(T)},
                    rows_at_once = std::max<Index>(1, piece_bytes / row_bytes);
        for (Index first = 0; first < to.rows(); first += rows_at_once) {
            const Index n = std::min(rows_at_once, to.rows() - first);
            ctx.parallel(n, ceil_div(grain_bytes, row_bytes), [&](Index begin, Index end, int) {
                begin += first, end += first;
                if (c.head_rows == 0) return io::convert_rows(*c.from, begin, end, to.row(begin));
                for (Index r = begin; r < end; ++r) {
                    const Index from = interleaved_row(r, c.head_rows);
                    io::convert_rows(*c.from, from, from + 1, to.row(r));
                }
            });
            advance(options, std::uint64_t(n * row_bytes));
        }
        // What has been converted does not have to be in memory twice.
        if (const io::MappedFile* const file = c.from->file.get()) {
            const auto offset = std::uint64_t(c.from->data.data() - file->bytes().data());
            file->forget(offset, offset + c.from->data.size());
        }
    }

    void copy_vector(const Copy<f32>& c, Tensor<f32, CPU>& to) {
        io::convert_rows(*c.from, 0, 1, to.data());
        if (c.head_rows) {
            const std::vector<f32> stored(to.data(), to.data() + to.numel());
            for (Index i = 0; i < to.numel(); ++i) to.data()[i] = stored[std::size_t(interleaved_row(i, c.head_rows))];
        }
        done_ += to.nbytes();
    }

    void touch(Context<CPU>& ctx, const io::StoredTensor& t, const LoadOptions& options) {
        const auto offset = std::uint64_t(t.data.data() - t.file->bytes().data());
        for (std::uint64_t first = 0; first < t.data.size(); first += std::uint64_t(piece_bytes)) {
            const auto n = std::min<std::uint64_t>(std::uint64_t(piece_bytes), t.data.size() - first);
            ctx.parallel(Index(n), Index{1} << 20, [&](Index begin, Index end, int) {
                t.file->prefault(offset + first + std::uint64_t(begin), offset + first + std::uint64_t(end));
            });
            advance(options, n);
        }
    }

    void advance(const LoadOptions& options, std::uint64_t bytes) {
        done_ += bytes;
        report(options, double(done_) / double(total_));
    }
    void report(const LoadOptions& options, double share) {
        if (!options.progress || (share > 0 && share < 1 && share - last_ < 0.001))
            return;  // not for every small tensor
        last_ = share;
        if (!options.progress(share)) fail<CancelledError>("loading was cancelled");
    }

    static std::uint64_t physical_memory() {
        const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
        return pages > 0 && page_bytes > 0 ? std::uint64_t(pages) * std::uint64_t(page_bytes) : ~std::uint64_t{0};
    }

    std::vector<Copy<T>> matrices_;
    std::vector<Copy<f32>> vectors_;
    std::vector<const io::StoredTensor*> placed_;
    std::uint64_t total_ = 0, done_ = 0;
    double last_ = 0;
};

}  // namespace loading
}  // namespace l3::inline v0
