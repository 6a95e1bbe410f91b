#pragma once
#include "program.hpp"
#include <l3/l3.hpp>

namespace programs {

/// Opens the model that the options name; on a terminal, with a progress bar if it takes over a second.
/// Defined in any_model.cpp, the one place where the library is compiled for every dtype.
l3::AnyModel open_model(const CommonOptions& options);

}  // namespace programs
