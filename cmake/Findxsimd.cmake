# Finds the xsimd headers and makes the target l3::xsimd_headers: those of a target xsimd that the project already has,
# else those found by CMAKE_PREFIX_PATH, xsimd_ROOT or xsimd_INCLUDE_DIR. xsimd's own CMake package is not used, because
# Debian's links a library (xtl) that Debian's package neither has nor needs. Installed together with l3.
if(NOT TARGET l3::xsimd_headers)
    if(TARGET xsimd)
        get_target_property(l3_xsimd_dirs xsimd INTERFACE_INCLUDE_DIRECTORIES)
        set(xsimd_FOUND TRUE)
    else()
        find_path(xsimd_INCLUDE_DIR xsimd/xsimd.hpp)
        mark_as_advanced(xsimd_INCLUDE_DIR)
        set(l3_xsimd_dirs ${xsimd_INCLUDE_DIR})

        if(xsimd_INCLUDE_DIR)
            file(STRINGS ${xsimd_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp xsimd_VERSION
                 REGEX "^#define XSIMD_VERSION_(MAJOR|MINOR|PATCH) ")
            string(REGEX REPLACE "[^;]* ([0-9]+)" "\\1" xsimd_VERSION "${xsimd_VERSION}")
            list(JOIN xsimd_VERSION "." xsimd_VERSION)
        endif()

        include(FindPackageHandleStandardArgs)
        find_package_handle_standard_args(xsimd REQUIRED_VARS xsimd_INCLUDE_DIR VERSION_VAR xsimd_VERSION)
    endif()

    if(xsimd_FOUND)
        add_library(l3::xsimd_headers INTERFACE IMPORTED)
        set_target_properties(l3::xsimd_headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${l3_xsimd_dirs}")
    endif()
    unset(l3_xsimd_dirs)
else()
    set(xsimd_FOUND TRUE)
endif()
