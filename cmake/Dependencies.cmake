# Where the dependencies come from: a package of the system first, else a pinned release by FetchContent.
# Nothing is downloaded while everything is installed. Fetched headers are wrapped in targets named as the packages
# name them; what a fetched project's own CMake files would do to the build stays out of it.
include(FetchContent)

# Downloads a pinned commit without adding it to the build.
macro(l3_download name repository commit)
    message(STATUS "l3: ${name} is not installed; fetching ${repository} at ${commit}")
    FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${commit}
                         SOURCE_SUBDIR no_build_files_here)
    FetchContent_MakeAvailable(${name})
endmacro()

# A header-only dependency: the target `target` with the include directory `include` of the download.
macro(l3_download_headers name repository commit target include)
    l3_download(${name} ${repository} ${commit})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE ${${name}_SOURCE_DIR}/${include})
endmacro()

# A dependency with CMake files of its own: added to the build, but built only where it is used.
macro(l3_add_subproject name repository commit)
    l3_download(${name} ${repository} ${commit})
    add_subdirectory(${${name}_SOURCE_DIR} ${${name}_BINARY_DIR} EXCLUDE_FROM_ALL)
endmacro()

macro(l3_require_xsimd)
    find_package(xsimd 8.1 QUIET MODULE)
    if(NOT TARGET l3::xsimd_headers)
        l3_download_headers(xsimd xtensor-stack/xsimd 1577b02d549cca52aa5e943c16f2600950480289
                            l3::xsimd_headers include)  # 8.1.0
    endif()
endmacro()

macro(l3_require_json)
    if(NOT TARGET nlohmann_json::nlohmann_json)
        find_package(nlohmann_json 3.10 QUIET)
        if(NOT TARGET nlohmann_json::nlohmann_json)
            l3_download_headers(json nlohmann/json bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d
                                nlohmann_json::nlohmann_json single_include)  # 3.11.2
        endif()
    endif()
endmacro()

macro(l3_require_pcre2)
    if(NOT TARGET PCRE2::8BIT)
        find_package(PCRE2 10.30 QUIET MODULE)
        if(NOT TARGET PCRE2::8BIT)
            l3_fetch_pcre2()
        endif()
    endif()
endmacro()

# The two dependencies with something to compile. Functions, so that their settings end here.
function(l3_fetch_pcre2)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)      # its options take these variables
    set(CMAKE_POLICY_VERSION_MINIMUM 3.5)      # CMake 4 refuses its 3.1
    set(CMAKE_WARN_DEPRECATED OFF)
    set(PCRE2_SUPPORT_JIT ON)
    set(PCRE2_BUILD_PCRE2GREP OFF)
    set(PCRE2_BUILD_TESTS OFF)
    set(PCRE2_SHOW_REPORT OFF)
    set(PCRE2_STATIC_PIC ON)
    l3_add_subproject(pcre2 PCRE2Project/pcre2 52c08847921a324c804cabf2814549f50bce1265)  # 10.42
    add_library(PCRE2::8BIT INTERFACE IMPORTED GLOBAL)
    target_link_libraries(PCRE2::8BIT INTERFACE pcre2-8-static)
endfunction()

macro(l3_require_benchmark)
    if(NOT TARGET benchmark::benchmark)
        find_package(benchmark QUIET)
        if(NOT TARGET benchmark::benchmark)
            l3_fetch_benchmark()
        endif()
    endif()
endmacro()

function(l3_fetch_benchmark)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
    set(BENCHMARK_ENABLE_TESTING OFF)
    set(BENCHMARK_ENABLE_INSTALL OFF)
    l3_add_subproject(benchmark google/benchmark d572f4777349d43653b21d6c2fc63020ab326db2)  # 1.7.1
endfunction()

macro(l3_require_doctest)
    if(NOT TARGET doctest::doctest)
        find_package(doctest 2.4 QUIET)
        if(NOT TARGET doctest::doctest)
            l3_download_headers(doctest doctest/doctest b7c21ec5ceeadb4951b00396fc1e4642dd347e5f doctest::doctest .)  # 2.4.9
        endif()
    endif()
endmacro()

macro(l3_require_cli11)
    if(NOT TARGET CLI11::CLI11)
        find_package(CLI11 2.1 QUIET)
        if(NOT TARGET CLI11::CLI11)
            l3_download_headers(cli11 CLIUtils/CLI11 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3 CLI11::CLI11 include)  # 2.1.2
        endif()
    endif()
endmacro()
