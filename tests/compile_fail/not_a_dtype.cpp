// expected: DType
#include <l3/l3.hpp>
int main() { l3::Model<double, l3::CPU> model("Llama-3.2-1B-Instruct"); }
