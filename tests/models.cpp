// The models of both dtypes, compiled once for all test programs.
#include "support/evaluate.hpp"

namespace support {

template <class T> l3::Model<T, CPU> open(const std::filesystem::path& path, const l3::ModelOptions& options) {
    return l3::Model<T, CPU>(path, options);
}
template l3::Model<f32, CPU> open<f32>(const std::filesystem::path&, const l3::ModelOptions&);
template l3::Model<bf16, CPU> open<bf16>(const std::filesystem::path&, const l3::ModelOptions&);

}  // namespace support

template void l3::forward<l3::f32, l3::CPU>(l3::Context<l3::CPU>&, const l3::LlamaConfig&,
                                            const l3::LlamaWeights<l3::f32, l3::CPU>&, l3::KVCache<l3::f32, l3::CPU>&,
                                            l3::Activations<l3::f32, l3::CPU>&, std::span<const l3::Token>,
                                            std::span<const int>);
template void l3::forward<l3::bf16, l3::CPU>(l3::Context<l3::CPU>&, const l3::LlamaConfig&,
                                             const l3::LlamaWeights<l3::bf16, l3::CPU>&,
                                             l3::KVCache<l3::bf16, l3::CPU>&, l3::Activations<l3::bf16, l3::CPU>&,
                                             std::span<const l3::Token>, std::span<const int>);
